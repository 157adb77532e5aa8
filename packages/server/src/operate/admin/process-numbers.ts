/** Numbers of a process, for the metrics: each process of the service counts alone. */
import { openDescriptors } from "../../base/kernel/index.ts";
import type { EventLoopLag, HistogramTotals, LimitMeter, RequestMeter } from "../../base/logging/index.ts";
import type { Realtime } from "../../live/realtime/index.ts";

export interface ProcessNumbers {
  readonly requests: ReturnType<RequestMeter["totals"]>;
  readonly durations: HistogramTotals;
  readonly inFlight: number;
  readonly limits: ReturnType<LimitMeter["totals"]>;
  readonly lagMs: number;
  readonly sockets: number;
  /** Null on a system that does not tell. */
  readonly descriptors: number | null;
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

const startedAt = Date.now() - performance.now();

/** The numbers of this process. */
export function processNumbers(parts: {
  meter: RequestMeter;
  limits: LimitMeter;
  lag: EventLoopLag;
  realtime: Realtime;
}): ProcessNumbers {
  const { meter, limits, lag, realtime } = parts;
  const { user, system } = process.cpuUsage();
  return {
    requests: meter.totals(),
    durations: meter.durations.totals(),
    inFlight: meter.inFlight(),
    limits: limits.totals(),
    lagMs: lag.longest(),
    sockets: realtime.sockets,
    descriptors: openDescriptors(),
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    startedAt,
  };
}
