/** Logging: leveled entries to the terminal and to a ring in memory. Never given a password, a token or a secret. */
export { LOG_LEVELS, type LogLevel } from "./entry.ts";
export { Logger } from "./logger.ts";
export { LogRing } from "./ring.ts";
export { type LogFormat, lineSink } from "./sinks.ts";
