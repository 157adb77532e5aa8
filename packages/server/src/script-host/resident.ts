/** The resident memory of another process, from the operating system. */
import { readFileSync } from "node:fs";

const pageSize = 4_096;

/** Bytes; null for a process that has ended, and where the system has no cheap way to tell. */
export function residentBytes(pid: number): number | null {
  if (process.platform === "linux") {
    try {
      return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * pageSize;
    } catch {
      return null;
    }
  }
  if (process.platform !== "darwin") return null;
  const { stdout } = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]);
  const kilobytes = Number(stdout.toString());
  return kilobytes > 0 ? kilobytes * 1_024 : null;
}
