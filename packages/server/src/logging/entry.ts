/** Log entry: its fields, its sinks, and its form on the wire. */
import { LOG_LEVELS, type LogLevel, type LogEntry as WireEntry } from "@socle/protocol";

export { LOG_LEVELS, type LogLevel };

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

/** For `JSON.stringify`: errors have no enumerable members, and a log wants their message and stack. */
export function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return typeof value === "bigint" ? value.toString() : value;
}

/** An entry as the admin API answers it: of plain values, and the request it is about on its own. */
export function toWire({ fields, ...entry }: LogEntry): WireEntry {
  if (fields === undefined) return { ...entry };
  // JSON makes an object of an object.
  const { requestId, ...others } = JSON.parse(JSON.stringify(fields, plain)) as { [name: string]: unknown };
  return {
    ...entry,
    ...(typeof requestId === "string" && { requestId }),
    ...(Object.keys(others).length > 0 && { fields: others }),
  };
}
