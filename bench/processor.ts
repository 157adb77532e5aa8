/** The processor time of a process, on Linux. */
import { readFileSync } from "node:fs";

/** Milliseconds of a tick of the kernel's counters. */
const tickMs = 10;

/** Milliseconds of processor time of a process and its threads since the start. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}
