/** Log entry: the fields; the forms as text, as JSON and on the wire; and the ring of the most recent entries. */
import { LOG_LEVELS, type LogLevel, type LogEntry as WireEntry } from "@socle/protocol";
import { isObject, printable } from "../kernel/index.ts";

export { LOG_LEVELS, type LogLevel };

/** The level of a word, in any case and with spaces around; null for any other word. */
export function levelOf(word: string): LogLevel | null {
  return LOG_LEVELS.find((each) => each === word.trim().toUpperCase()) ?? null;
}

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
  /** Values that go to standard output, and never into the memory that the admin API reads. */
  readonly secrets?: LogFields;
}

/** Takes entries somewhere: the terminal, memory. */
export type LogSink = (entry: LogEntry) => void;

/** For `JSON.stringify`: errors have no enumerable members, and a log wants message and stack. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return typeof value === "bigint" ? value.toString() : value;
}

/** An entry as an answer of the admin API: plain values only, and the id of the request beside the other fields. */
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

/** Whether a value is an error, or an error of another process as plain data. */
function isError(value: unknown): value is Error {
  return (
    value instanceof Error ||
    (isObject(value) && typeof value["message"] === "string" && typeof value["stack"] === "string")
  );
}

export type LogFormat = "text" | "json";

function textFields(fields: LogFields): string {
  let text = "";
  let stacks = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (isError(value)) {
      text += ` ${name}=${JSON.stringify(value.message)}`;
      for (const line of (value.stack ?? "").split("\n")) stacks += `\n  ${printable(line)}`;
    } else {
      text += ` ${name}=${typeof value === "string" && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value, plain)}`;
    }
  }
  return printable(text) + stacks;
}

/** An entry with a newline: JSON for machines; text for people, with the stack of an error indented below. */
export function lineOf({ secrets, ...shown }: LogEntry, format: LogFormat): string {
  const entry: LogEntry = secrets === undefined ? shown : { ...shown, fields: { ...shown.fields, ...secrets } };
  // Between quotation marks an escape is the same JSON.
  if (format === "json") return `${printable(JSON.stringify(entry, plain))}\n`;
  const fields = entry.fields === undefined ? "" : textFields(entry.fields);
  return `${entry.timestamp} ${entry.level.padEnd(5)} ${printable(entry.message)}${fields}\n`;
}

export function lineSink(write: (line: string) => void, format: LogFormat): LogSink {
  return (entry) => write(lineOf(entry, format));
}

/** The most recent entries, in memory (spec, "Logging"). */
export class LogRing {
  readonly #entries: LogEntry[] = [];
  readonly #capacity: number;
  readonly #listeners = new Set<LogSink>();
  #next = 0;

  constructor(capacity = 2_000) {
    this.#capacity = capacity;
  }

  add({ secrets, ...entry }: LogEntry): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#capacity;
    for (const listener of this.#listeners) listener(entry);
  }

  /** Calls `listener` with every entry from now on. Answers how to stop that. */
  listen(listener: LogSink): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Oldest first. */
  entries(): LogEntry[] {
    if (this.#entries.length < this.#capacity) return [...this.#entries];
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }
}
