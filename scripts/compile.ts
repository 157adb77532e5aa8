/**
 * Compiling the executable. It is compiled from a copy of the source in a temporary folder that is deleted afterwards, so
 * that no path which the compiler has written into it leads to anything: an executable that needs its source tree or
 * `node_modules` fails every test that starts it.
 */
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { root, start } from "./run.ts";

const server = "packages/server/src";

/** The program, and each module that it starts as a thread: an entry point of its own, which `threadEntry` names. */
async function entrypoints(): Promise<string[]> {
  const entries = new Set([`${server}/main.ts`]);
  for (const file of new Glob(`${server}/**/*.ts`).scanSync(root)) {
    const source = await readFile(join(root, file), "utf8");
    for (const [, path] of source.matchAll(/\bthreadEntry\("([^"]+)"\)/g)) entries.add(`${server}/${path}.ts`);
  }
  return [...entries];
}

/** A platform other than this machine's: Bun's name of it, and the runtime that was fetched for it. */
interface Target {
  name: string;
  runtime: string;
}

/** The folders of `node_modules` that the executable's own code imports from: all but those for development. */
async function dependencies(): Promise<string[]> {
  const lock: { packages: { [path: string]: { dev?: boolean; optional?: boolean; link?: boolean } } } = JSON.parse(
    await readFile(join(root, "package-lock.json"), "utf8"),
  );
  return Object.entries(lock.packages).flatMap(([path, { dev, link }]) =>
    path.includes("node_modules/") && dev !== true && link !== true ? [path] : [],
  );
}

/** Copies what the executable is made of. Workspace packages are put where npm links them. */
async function copySource(folder: string): Promise<void> {
  for (const file of ["package.json", "tsconfig.json"]) await cp(join(root, file), join(folder, file));
  for (const name of ["protocol", "server"]) {
    const source = join("packages", name);
    await cp(join(root, source, "package.json"), join(folder, source, "package.json"));
    await cp(join(root, source, "src"), join(folder, source, "src"), { recursive: true });
  }
  await cp(join(folder, "packages/protocol"), join(folder, "node_modules/@socle/protocol"), { recursive: true });
  for (const path of await dependencies())
    await cp(join(root, path), join(folder, path), { recursive: true, force: true }).catch((thrown: unknown) => {
      // An optional package of another platform is in the lock file and not on the disk.
      if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT")) throw thrown;
    });
}

/** Compiles the executable; without a target, for this machine. */
export async function compile(outfile: string, target?: Target): Promise<void> {
  // Bytecode is made by this machine's runtime; another one gets the source, and compiles it at its start.
  const forTarget =
    target === undefined ? ["--bytecode"] : [`--target=${target.name}`, `--compile-executable-path=${target.runtime}`];
  const source = await mkdtemp(join(tmpdir(), "socle-build-"));
  try {
    await copySource(source);
    await mkdir(dirname(outfile), { recursive: true });
    const code = await start(
      [
        process.execPath,
        "build",
        "--compile",
        "--minify",
        "--sourcemap=inline",
        // The user's functions import packages and use the paths of their project; nothing else of the place decides anything.
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
  // The map is inside the executable; Bun leaves copies beside it.
  for (const map of new Glob("*.map").scanSync(dirname(outfile))) await rm(join(dirname(outfile), map));
}
