import { must, root } from "./run.ts";

/** The program, and the modules that it starts as threads: each is an entry point of its own. */
const entrypoints = ["packages/server/src/main.ts", "packages/server/src/database/checkpoint-worker.ts"];

/** Compiles the executable. Without a target, for this machine. */
export async function compile(outfile: string, target?: { name: string; runtime: string }): Promise<void> {
  const forTarget =
    target === undefined ? [] : [`--target=${target.name}`, `--compile-executable-path=${target.runtime}`];
  await must([
    process.execPath,
    "build",
    "--compile",
    "--minify",
    "--sourcemap=inline",
    "--bytecode",
    ...forTarget,
    ...entrypoints.map((file) => `${root}/${file}`),
    "--outfile",
    outfile,
  ]);
}
