/**
 * Compiling the executable. The source is a copy in a temporary folder that is deleted afterwards, so
 * that no path which the compiler has written into the executable leads to a file: an executable that needs the source tree or
 * `node_modules` fails every test that starts the executable. The executable holds no path of this machine and no time of the build:
 * the same commit makes the same bytes, wherever and whenever the commit is built.
 */

import { closeSync, openSync, readSync } from "node:fs";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";
import { dependencies } from "./dependencies.ts";
import { embedClient } from "./embed-client.ts";
import { embedDashboard } from "./embed-dashboard.ts";
import { embedTemplates } from "./embed-templates.ts";
import { embedTestKit } from "./embed-test-kit.ts";
import { keyModule, writeKeyModule } from "./release/keys.ts";
import { root, start } from "./run.ts";

const server = "packages/server/src";

/**
 * The functions that a start of the service calls, recorded by `npm run record-start`. The compiler puts the bytecode of these functions
 * side by side: a service that idles takes 2.5 MiB less memory. Functions are named by a hash of their syntax, so that the record stays
 * good while the code changes.
 */
export const recordedStart = join(root, "packages/server/start.order");

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

/** A platform of the release: Socle's name and Bun's name of the platform, and the fetched runtime for the platform. */
export interface Target {
  readonly platform: string;
  readonly bun: string;
  readonly runtime: string;
}

/** An executable of a release, or of a test, differs from `dist/socle` by these options. */
export interface CompileOptions {
  /** Without a target, the platform of this machine. */
  readonly target?: Target;
  /** The key that the executable checks signatures of releases with; without a key, the key of the source. */
  readonly publicKey?: string;
  /** Another version than the version of the source: a test of an upgrade needs two versions. */
  readonly version?: string;
}

/** The platform of this machine, by the name that releases have for the platform. */
export function ownPlatform(): string {
  const system = { darwin: "macos", win32: "windows" }[process.platform as string] ?? process.platform;
  // The head of an executable names the loader of its C library.
  const head = Buffer.alloc(4096);
  const runtime = openSync(process.execPath, "r");
  readSync(runtime, head);
  closeSync(runtime);
  return `${system}-${process.arch}${head.includes("ld-musl") ? "-musl" : ""}`;
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

/** The time of the commit in milliseconds: SOURCE_DATE_EPOCH, or the time that Git knows; the present without a repository. */
export function commitTime(): number {
  const given = process.env["SOURCE_DATE_EPOCH"];
  if (given !== undefined) return Number(given) * 1000;
  const git = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: root, stderr: "ignore" });
  return git.success ? Number(git.stdout.toString().trim()) * 1000 : Date.now();
}

/**
 * Writes into package.json what the executable tells of its build: the version with the commit, `0.2.0+abcdef1`, with `.changed` for
 * a changed source, without a commit where there is no repository; and the platform.
 */
async function nameBuild(manifest: string, named: { version?: string; platform: string }): Promise<void> {
  const git = Bun.spawnSync(["git", "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=.changed"], {
    cwd: root,
    stderr: "ignore",
  });
  const commit = git.success ? git.stdout.toString().trim() : "";
  const content = JSON.parse(await readFile(manifest, "utf8"));
  const version = named.version ?? content.version;
  const build = commit === "" ? version : `${version}+${commit}`;
  await writeFile(manifest, JSON.stringify({ ...content, version: build, platform: named.platform }));
}

/** Compiles the executable. */
export async function compile(outfile: string, { target, publicKey, version }: CompileOptions = {}): Promise<void> {
  const forTarget =
    target === undefined ? [] : [`--target=${target.bun}`, `--compile-executable-path=${target.runtime}`];
  const source = await mkdtemp(join(tmpdir(), "socle-build-"));
  // The compiler writes the paths of modules into the executable, relative to the file that it writes.
  const compiled = join("out", basename(outfile));
  try {
    await copySource(source);
    const platform = target?.platform ?? ownPlatform();
    await nameBuild(join(source, "packages/server/package.json"), {
      platform,
      ...(version !== undefined && { version }),
    });
    const builtAt = commitTime();
    await embedDashboard(join(root, "packages/dashboard/dist"), { http: join(source, server, "edge/http"), builtAt });
    await embedClient({ http: join(source, server, "edge/http"), builtAt });
    await embedTestKit(join(source, server, "app"));
    await embedTemplates(join(source, server, "cli"));
    if (publicKey !== undefined) await writeKeyModule(join(source, keyModule), publicKey);
    const code = await start(
      [
        process.execPath,
        "build",
        "--compile",
        "--minify",
        "--sourcemap=inline",
        "--bytecode",
        `--bytecode-order=${recordedStart}`,
        // Modules that are imported on demand are separate chunks: the start reads no such chunk.
        "--splitting",
        "--format=esm",
        // The user's functions import packages and use the paths of the project; no other file of the folder has an effect.
        "--compile-autoload-package-json",
        "--compile-autoload-tsconfig",
        "--no-compile-autoload-bunfig",
        "--no-compile-autoload-dotenv",
        ...forTarget,
        ...(await entrypoints()),
        "--outfile",
        compiled,
      ],
      { cwd: source },
    );
    if (code !== 0) throw new Error(`bun build failed for ${outfile}`);
    await mkdir(dirname(outfile), { recursive: true });
    // A running executable cannot be written, and can be removed.
    await rm(outfile, { force: true });
    await copyFile(join(source, compiled), outfile);
  } finally {
    await rm(source, { recursive: true, force: true });
  }
}
