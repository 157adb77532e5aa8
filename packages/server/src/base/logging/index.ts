/** Logging: entries for the terminal and for a ring in memory, counters of requests and of reached limits. Never logs secrets. */
export {
  LOG_LEVELS,
  type LogEntry,
  type LogFormat,
  type LogLevel,
  LogRing,
  type LogSink,
  levelOf,
  lineOf,
  lineSink,
  toWire,
} from "./entry.ts";
export { LogOutput } from "./log-output.ts";
export { Logger } from "./logger.ts";
export { EventLoopLag, Histogram, type HistogramTotals, LimitMeter, RequestMeter } from "./meters.ts";
export { FailureBudget, Repeats } from "./repeats.ts";
