/** The executable under measurement: an isolated copy of what was built, or what `BENCH_EXECUTABLE` names. */
import { isolatedExecutable } from "../scripts/isolated.ts";

function isolated(): string {
  const { path, remove } = isolatedExecutable();
  process.on("exit", remove);
  return path;
}

export const executable = process.env["BENCH_EXECUTABLE"] ?? isolated();
