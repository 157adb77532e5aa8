import { join } from "node:path";

/** How to start this program once more: the executable, or the runtime and the program that it runs. */
export function ownCommand(): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath];
  return [process.execPath, join(import.meta.dir, "..", "main.ts")];
}
