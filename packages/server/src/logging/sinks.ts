/** Log lines: an entry as text or JSON, and the sink that writes it. */
import { printable } from "../kernel/index.ts";
import { type LogEntry, type LogFields, type LogSink, plain } from "./entry.ts";

export type LogFormat = "text" | "json";

function textFields(fields: LogFields): string {
  let text = "";
  let stacks = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (value instanceof Error) {
      text += ` ${name}=${JSON.stringify(value.message)}`;
      for (const line of (value.stack ?? "").split("\n")) stacks += `\n  ${printable(line)}`;
    } else {
      text += ` ${name}=${typeof value === "string" && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value, plain)}`;
    }
  }
  return printable(text) + stacks;
}

/**
 * One entry with its newline: for machines one line of JSON; for people one line of text, and below it, indented, the
 * stack of an error.
 */
export function lineOf(entry: LogEntry, format: LogFormat): string {
  // Between quotation marks an escape is the same JSON.
  if (format === "json") return `${printable(JSON.stringify(entry, plain))}\n`;
  const fields = entry.fields === undefined ? "" : textFields(entry.fields);
  return `${entry.timestamp} ${entry.level.padEnd(5)} ${printable(entry.message)}${fields}\n`;
}

/** Writes each entry to `write`. */
export function lineSink(write: (line: string) => void, format: LogFormat): LogSink {
  return (entry) => write(lineOf(entry, format));
}
