/** Logging: leveled entries to the terminal and to a ring in memory, and counters of requests and of limits that were reached. Never given a password, a token or a secret. */
export { LOG_LEVELS, type LogEntry, type LogLevel, type LogSink, toWire } from "./entry.ts";
export { EventLoopLag } from "./event-loop-lag.ts";
export { FailureBudget } from "./failure-budget.ts";
export { Histogram, type HistogramTotals } from "./histogram.ts";
export { LimitMeter } from "./limit-meter.ts";
export { LogOutput } from "./log-output.ts";
export { Logger } from "./logger.ts";
export { latencyBounds, RequestMeter } from "./request-meter.ts";
export { LogRing } from "./ring.ts";
export { type LogFormat, lineOf, lineSink } from "./sinks.ts";
