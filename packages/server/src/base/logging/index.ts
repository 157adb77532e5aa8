/** Logging: entries for the terminal and for a ring in memory, counters of requests and of reached limits. Never logs secrets. */
export {
  LOG_LEVELS,
  type LogEntry,
  type LogFormat,
  type LogLevel,
  type LogSink,
  lineOf,
  lineSink,
  toWire,
} from "./entry.ts";
export { EventLoopLag } from "./event-loop-lag.ts";
export { FailureBudget } from "./failure-budget.ts";
export { LimitMeter } from "./limit-meter.ts";
export { LogOutput } from "./log-output.ts";
export { Logger } from "./logger.ts";
export { Histogram, type HistogramTotals, RequestMeter } from "./meters.ts";
export { LogRing } from "./ring.ts";
