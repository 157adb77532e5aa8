/**
 * Compiling the executable. The source is a copy in a temporary folder that is deleted afterwards, so
 * that no path which the compiler has written into the executable leads to a file: an executable that needs the source tree or
 * `node_modules` fails every test that starts the executable.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { dependencies } from "./dependencies.ts";
import { embedClient } from "./embed-client.ts";
import { embedDashboard } from "./embed-dashboard.ts";
import { embedTemplates } from "./embed-templates.ts";
import { embedTestKit } from "./embed-test-kit.ts";
import { root, start } from "./run.ts";

const server = "packages/server/src";

/** The modules that run as threads, by the names in calls of `threadEntry`. */
export async function threads(): Promise<string[]> {
  const found = new Set<string>();
  for (const file of new Glob(`${server}/**/*.ts`).scanSync(root)) {
    const source = await readFile(join(root, file), "utf8");
    for (const [, path] of source.matchAll(/\bthreadEntry\("([^"]+)"\)/g)) found.add(path ?? "");
  }
  return [...found];
}

/** The program, and each module that runs as a thread: a separate entry point. */
async function entrypoints(): Promise<string[]> {
  return [`${server}/main.ts`, ...(await threads()).map((path) => `${server}/${path}.ts`)];
}

/** A platform other than this machine's: Bun's name of the platform, and the fetched runtime for the platform. */
interface Target {
  name: string;
  runtime: string;
}

/** Copies the sources of the executable. Workspace packages go to the places of npm's links. */
async function copySource(folder: string): Promise<void> {
  for (const file of ["package.json", "tsconfig.json"]) await cp(join(root, file), join(folder, file));
  for (const name of ["protocol", "server"]) {
    const source = join("packages", name);
    await cp(join(root, source, "package.json"), join(folder, source, "package.json"));
    await cp(join(root, source, "src"), join(folder, source, "src"), { recursive: true });
  }
  await cp(join(folder, "packages/protocol"), join(folder, "node_modules/@socle/protocol"), { recursive: true });
  for (const { path } of dependencies(["server"])) await cp(join(root, path), join(folder, path), { recursive: true });
}

/** Adds the commit to the version of the executable: `0.1.0+abcdef1`, with `.changed` for a changed source; nothing without a repository. */
async function nameBuild(manifest: string): Promise<void> {
  const git = Bun.spawnSync(["git", "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=.changed"], {
    cwd: root,
    stderr: "ignore",
  });
  const commit = git.success ? git.stdout.toString().trim() : "";
  if (commit === "") return;
  const content = JSON.parse(await readFile(manifest, "utf8"));
  await writeFile(manifest, JSON.stringify({ ...content, version: `${content.version}+${commit}` }));
}

/** Compiles the executable; without a target, for this machine. */
export async function compile(outfile: string, target?: Target): Promise<void> {
  // This machine's runtime makes bytecode; another runtime gets the source, and compiles the source at the start.
  const forTarget =
    target === undefined ? ["--bytecode"] : [`--target=${target.name}`, `--compile-executable-path=${target.runtime}`];
  const source = await mkdtemp(join(tmpdir(), "socle-build-"));
  try {
    await copySource(source);
    await nameBuild(join(source, "packages/server/package.json"));
    await embedDashboard(join(root, "packages/dashboard/dist"), join(source, server, "edge/http"));
    await embedClient(join(source, server, "edge/http"));
    await embedTestKit(join(source, server, "app"));
    await embedTemplates(join(source, server, "cli"));
    await mkdir(dirname(outfile), { recursive: true });
    const code = await start(
      [
        process.execPath,
        "build",
        "--compile",
        "--minify",
        "--sourcemap=inline",
        // Modules that are imported on demand are separate chunks: the start reads no such chunk.
        "--splitting",
        "--format=esm",
        // The user's functions import packages and use the paths of the project; no other file of the folder has an effect.
        "--compile-autoload-package-json",
        "--compile-autoload-tsconfig",
        "--no-compile-autoload-bunfig",
        "--no-compile-autoload-dotenv",
        ...forTarget,
        ...(await entrypoints()).map((file) => join(source, file)),
        "--outfile",
        outfile,
      ],
      { cwd: source },
    );
    if (code !== 0) throw new Error(`bun build failed for ${outfile}`);
  } finally {
    await rm(source, { recursive: true, force: true });
  }
  // The map is inside the executable; Bun leaves copies beside the executable.
  for (const map of new Glob("*.map").scanSync(dirname(outfile))) await rm(join(dirname(outfile), map));
}
