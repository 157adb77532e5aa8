/** The executable under measurement: an isolated copy of the build, or the path in `BENCH_EXECUTABLE`. */
import { isolatedExecutable } from "../scripts/isolated.ts";

function isolated(): string {
  const { path, remove } = isolatedExecutable();
  process.on("exit", remove);
  return path;
}

export const executable = process.env["BENCH_EXECUTABLE"] ?? isolated();
