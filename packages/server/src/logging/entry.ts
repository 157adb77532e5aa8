/** In order of weight (spec, "Logging levels"). */
export const LOG_LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Values that belong to a message; `requestId` is shown beside the others by whoever lists entries. */
export type LogFields = { readonly [name: string]: unknown };

export interface LogEntry {
  /** ISO 8601, UTC, with milliseconds. */
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly message: string;
  /** The part of the service that speaks: "http", "database", … */
  readonly source: string;
  readonly fields?: LogFields;
}

/** Takes entries somewhere: the terminal, memory. */
export type LogSink = (entry: LogEntry) => void;
