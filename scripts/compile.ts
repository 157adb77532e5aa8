import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { must, root } from "./run.ts";

/** The program, and the modules that it starts as threads: each is an entry point of its own. */
const entrypoints = [
  "packages/server/src/main.ts",
  "packages/server/src/database/checkpoint-worker.ts",
  "packages/server/src/database/thread-worker.ts",
];

/** A platform other than this machine's: Bun's name of it, and the runtime that was fetched for it. */
interface Target {
  name: string;
  runtime: string;
}

/** Compiles the executable; without a target, for this machine. */
export async function compile(outfile: string, target?: Target): Promise<void> {
  // Bytecode is made by this machine's runtime; another one gets the source, and compiles it at its start.
  const forTarget =
    target === undefined ? ["--bytecode"] : [`--target=${target.name}`, `--compile-executable-path=${target.runtime}`];
  await must([
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
    ...entrypoints.map((file) => join(root, file)),
    "--outfile",
    outfile,
  ]);
  // The map is inside the executable; Bun leaves copies beside it.
  for (const map of new Glob("*.map").scanSync(dirname(outfile))) await rm(join(dirname(outfile), map));
}
