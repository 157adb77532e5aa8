/** The samples of the soak: the resources of the service and the processes at a moment, and the slope of each measure. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Sizes are in MiB, the time is in minutes since the start. */
export interface Sample {
  readonly minute: number;
  readonly service: number;
  readonly children: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly log: number;
  readonly database: number;
}

export type Measure = Exclude<keyof Sample, "minute">;

const mib = 1024 ** 2;

interface Process {
  readonly parent: number;
  readonly memory: number;
  readonly threads: number;
}

/** Null after the end of the process. */
function processOf(pid: string | number): Process | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const number = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    return { parent: number("PPid"), memory: number("VmRSS") / 1_024, threads: number("Threads") };
  } catch {
    return null;
  }
}

function sizeMiB(path: string): number {
  return existsSync(path) ? statSync(path).size / mib : 0;
}

/** @param since `performance.now()` of the start. */
export function take(pid: number, folder: string, since: number): Sample {
  const service = processOf(pid);
  if (service === null) throw new Error("The service has ended");
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const children = all.map(processOf).filter((process) => process?.parent === pid);
  return {
    minute: (performance.now() - since) / 60_000,
    service: service.memory,
    children: children.reduce((sum, process) => sum + (process?.memory ?? 0), 0),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: service.threads,
    log: sizeMiB(join(folder, "socle.db-wal")),
    database: sizeMiB(join(folder, "socle.db")),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** The lowest sample of each minute: the garbage collector has taken back the rest by then. */
function floors(samples: readonly Sample[], measure: Measure): Sample[] {
  const minutes = Map.groupBy(samples, ({ minute }) => Math.floor(minute));
  return [...minutes.values()].map((group) => group.reduce((a, b) => (b[measure] < a[measure] ? b : a)));
}

/** The median of the slopes between all pairs of minutes (Theil–Sen), per minute: no single minute moves the median. */
export function slope(samples: readonly Sample[], measure: Measure): number {
  const slopes: number[] = [];
  const least = floors(samples, measure);
  least.forEach((a, i) => {
    for (const b of least.slice(i + 1))
      if (b.minute > a.minute) slopes.push((b[measure] - a[measure]) / (b.minute - a.minute));
  });
  return median(slopes);
}
