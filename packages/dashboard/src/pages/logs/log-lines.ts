/** Entries of the log in memory: joined from reads and the live stream without doubles, counted and filtered. */
import { LOG_LEVELS, type LogEntry, type LogLevel } from "@socle/protocol";

/** An entry, with a key for the list and a text for the search. */
export interface LogLine {
  /** Counts up in the order of arrival on the page. */
  readonly key: number;
  readonly entry: LogEntry;
  /** The text for the search, in lower case. */
  readonly words: string;
}

/** Most entries in memory; the oldest entries are dropped first. */
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
 * Adds entries that were read. Entries that the stream has sent already are not added again. An entry has no id, and two
 * real entries may be equal: the result keeps the larger number of equal entries of the two sides.
 */
export function withRead(lines: readonly LogLine[], read: readonly LogEntry[]): readonly LogLine[] {
  const known = new Map<string, number>();
  for (const { entry } of lines) {
    const identity = JSON.stringify(entry);
    known.set(identity, (known.get(identity) ?? 0) + 1);
  }
  // An older entry was dropped when the memory was full.
  const oldest = lines.length < maxLines ? "" : (lines[0]?.entry.timestamp ?? "");
  const missing = read.filter((entry) => {
    const identity = JSON.stringify(entry);
    const count = known.get(identity) ?? 0;
    if (count > 0) known.set(identity, count - 1);
    return count === 0 && entry.timestamp >= oldest;
  });
  if (missing.length === 0) return lines;
  const all = [...lines, ...numbered(missing, nextKey(lines))];
  // The sort is stable: entries of the same millisecond keep their order.
  return all.sort((a, b) => compare(a.entry.timestamp, b.entry.timestamp)).slice(-maxLines);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export interface LogFilter {
  /** Exactly these levels; an empty list shows all levels. */
  readonly levels: readonly LogLevel[];
  readonly search: string;
}

/** The lines with a text in the message, the source, the request's id or the fields, as in the search of the API. */
function withText(lines: readonly LogLine[], search: string): readonly LogLine[] {
  const wanted = search.toLowerCase();
  return wanted === "" ? lines : lines.filter(({ words }) => words.includes(wanted));
}

export interface ShownLines {
  readonly lines: readonly LogLine[];
  /** The number of lines with the text for each level, shown or not. */
  readonly counts: { readonly [level in LogLevel]: number };
}

export function shownOf(lines: readonly LogLine[], { levels, search }: LogFilter): ShownLines {
  const found = withText(lines, search);
  const counts = { DEBUG: 0, INFO: 0, WARN: 0, ERROR: 0 };
  for (const { entry } of found) counts[entry.level] += 1;
  return { lines: levels.length === 0 ? found : found.filter(({ entry }) => levels.includes(entry.level)), counts };
}

/** The levels after a switch. An empty list stands for all levels, and a full list is written as an empty list. */
export function toggled(levels: readonly LogLevel[], level: LogLevel): readonly LogLevel[] {
  const on = levels.length === 0 ? LOG_LEVELS : levels;
  const next = LOG_LEVELS.filter((each) => (each === level) !== on.includes(each));
  return next.length === LOG_LEVELS.length ? [] : next;
}

/** Multi-line texts among the fields, by their paths, for example stack traces: easier to read outside JSON. */
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

/** The fields in a single line, for the list. */
export function fieldsLine(fields: LogEntry["fields"], length = 300): string {
  let line = "";
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (line.length > length) break;
    const written = typeof value === "string" ? value : JSON.stringify(value);
    line += `${line === "" ? "" : "  "}${name}=${written.slice(0, length).replace(/\s+/g, " ")}`;
  }
  return line.slice(0, length);
}

/** The entries as JSON for a download, an entry per line. */
export function toNdjson(lines: readonly LogLine[]): string {
  return lines.map(({ entry }) => `${JSON.stringify(entry)}\n`).join("");
}
