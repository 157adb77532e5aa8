/** Entries of the log in memory: joined from reads and the live stream without doubles, counted and filtered. */
import { LOG_LEVELS, type LogEntry, type LogLevel } from "@socle/protocol";

/** An entry, with what the page needs to know it again and to find text in it. */
export interface LogLine {
  /** Rises in the order in which the page came to know them. */
  readonly key: number;
  readonly entry: LogEntry;
  /** The text that is searched, in lower case. */
  readonly words: string;
}

/** Entries in memory; the oldest go first. */
export const maxLines = 5_000;

function wordsOf({ message, source, requestId, fields }: LogEntry): string {
  const parts = [message, source, requestId ?? "", fields === undefined ? "" : JSON.stringify(fields)];
  return parts.join("\n").toLowerCase();
}

function numbered(entries: readonly LogEntry[], firstKey: number): LogLine[] {
  return entries.map((entry, index) => ({ key: firstKey + index, entry, words: wordsOf(entry) }));
}

function nextKey(lines: readonly LogLine[]): number {
  return lines.reduce((key, line) => Math.max(key, line.key), 0) + 1;
}

/** Adds entries of the stream. */
export function withCome(lines: readonly LogLine[], come: readonly LogEntry[]): readonly LogLine[] {
  if (come.length === 0) return lines;
  return [...lines, ...numbered(come, nextKey(lines))].slice(-maxLines);
}

/**
 * Adds entries that were read: those that the stream brought, too, are the same. An entry has no id, and may well have
 * come twice: as many of each are kept as the side with more of them has.
 */
export function withRead(lines: readonly LogLine[], read: readonly LogEntry[]): readonly LogLine[] {
  const known = new Map<string, number>();
  for (const { entry } of lines) {
    const identity = JSON.stringify(entry);
    known.set(identity, (known.get(identity) ?? 0) + 1);
  }
  // An entry that is older than all of these was dropped when the memory was full.
  const oldest = lines.length < maxLines ? "" : (lines[0]?.entry.timestamp ?? "");
  const missing = read.filter((entry) => {
    const identity = JSON.stringify(entry);
    const count = known.get(identity) ?? 0;
    if (count > 0) known.set(identity, count - 1);
    return count === 0 && entry.timestamp >= oldest;
  });
  if (missing.length === 0) return lines;
  const all = [...lines, ...numbered(missing, nextKey(lines))];
  // Sorting keeps the order of those of one millisecond.
  return all.sort((a, b) => compare(a.entry.timestamp, b.entry.timestamp)).slice(-maxLines);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export interface LogFilter {
  /** Exactly these; all for none. */
  readonly levels: readonly LogLevel[];
  readonly search: string;
}

/** Those with a text in the message, the source, the request's id or the fields, as the API searches. */
function withText(lines: readonly LogLine[], search: string): readonly LogLine[] {
  const wanted = search.toLowerCase();
  return wanted === "" ? lines : lines.filter(({ words }) => words.includes(wanted));
}

export interface ShownLines {
  readonly lines: readonly LogLine[];
  /** How many with the text there are of each level, shown or not. */
  readonly counts: { readonly [level in LogLevel]: number };
}

export function shownOf(lines: readonly LogLine[], { levels, search }: LogFilter): ShownLines {
  const found = withText(lines, search);
  const counts = { DEBUG: 0, INFO: 0, WARN: 0, ERROR: 0 };
  for (const { entry } of found) counts[entry.level] += 1;
  return { lines: levels.length === 0 ? found : found.filter(({ entry }) => levels.includes(entry.level)), counts };
}

/** The levels after one was switched: none stands for all, and all of them are written as none. */
export function toggled(levels: readonly LogLevel[], level: LogLevel): readonly LogLevel[] {
  const on = levels.length === 0 ? LOG_LEVELS : levels;
  const next = LOG_LEVELS.filter((each) => (each === level) !== on.includes(each));
  return next.length === LOG_LEVELS.length ? [] : next;
}

/** Texts of several lines among the fields, by their paths: stack traces. They are read better outside of JSON. */
export function longTexts(fields: LogEntry["fields"]): readonly { path: string; value: string }[] {
  const found: { path: string; value: string }[] = [];
  const look = (value: unknown, path: string, depth: number): void => {
    if (typeof value === "string" && value.includes("\n")) found.push({ path, value });
    if (typeof value !== "object" || value === null || depth > 5 || found.length >= 10) return;
    for (const [name, part] of Object.entries(value)) look(part, path === "" ? name : `${path}.${name}`, depth + 1);
  };
  look(fields, "", 0);
  return found;
}

/** The fields in one line, for the list. */
export function fieldsLine(fields: LogEntry["fields"], length = 300): string {
  let line = "";
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (line.length > length) break;
    const written = typeof value === "string" ? value : JSON.stringify(value);
    line += `${line === "" ? "" : "  "}${name}=${written.slice(0, length).replace(/\s+/g, " ")}`;
  }
  return line.slice(0, length);
}

/** One entry a line, as JSON, for a download. */
export function toNdjson(lines: readonly LogLine[]): string {
  return lines.map(({ entry }) => `${JSON.stringify(entry)}\n`).join("");
}
