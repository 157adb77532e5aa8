import { type LogEntry, type LogFields, type LogSink, plain } from "./entry.ts";

export type LogFormat = "text" | "json";

function textFields(fields: LogFields): string {
  let text = "";
  let stacks = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (value instanceof Error) {
      text += ` ${name}=${JSON.stringify(value.message)}`;
      stacks += `\n  ${(value.stack ?? "").replaceAll("\n", "\n  ")}`;
    } else {
      text += ` ${name}=${typeof value === "string" && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value, plain)}`;
    }
  }
  return text + stacks;
}

/** Control characters of user data must not move the cursor of whoever reads the log. */
function printable(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must go
  return message.replace(/[\u0000-\u001f\u007f]/g, (char) => JSON.stringify(char).slice(1, -1));
}

/** One entry: for machines one line of JSON; for people one line of text, and below it, indented, the stack of an error. */
function formatEntry(entry: LogEntry, format: LogFormat): string {
  if (format === "json") return JSON.stringify(entry, plain);
  const fields = entry.fields === undefined ? "" : textFields(entry.fields);
  return `${entry.timestamp} ${entry.level.padEnd(5)} ${printable(entry.message)}${fields}`;
}

/** Writes each entry to `write`. */
export function lineSink(write: (line: string) => void, format: LogFormat): LogSink {
  return (entry) => write(`${formatEntry(entry, format)}\n`);
}
