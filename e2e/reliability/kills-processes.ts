/** The processes of a service: the script hosts of functions and jobs, the processes of SQL queries, and the reader processes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

export type Word = "script-host" | "script-query" | "reader";

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    // The process has ended.
    return "";
  }
}

/** The children of a service with a word of the list in the command line. */
export function childrenOf(service: number, words: readonly Word[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => Number(/^PPid:\s+(\d+)/m.exec(read(pid, "status"))?.[1]) === service)
    .filter((pid) => words.some((word) => read(pid, "cmdline").split("\0").includes(word)))
    .map(Number);
}

/** Answers whether the process was alive. */
export function kill(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** Processes that have not ended after a while. A zombie has ended, and the parent has not looked yet. */
export async function remaining(pids: readonly number[], milliseconds = 10_000): Promise<number[]> {
  const end = performance.now() + milliseconds;
  const isThere = (pid: number): boolean =>
    existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(read(String(pid), "status"));
  while (pids.some(isThere) && performance.now() < end) await Bun.sleep(5);
  return pids.filter(isThere);
}
