/** Records as the grid holds them: what is long is cut, so that memory and the page stay bounded. */
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { type Piece, piecesOf } from "./found.ts";

/** A text of this length is held whole and can be edited in the grid. */
const longestText = 1_000;
/** A cell shows no more. */
const longestShown = 240;
/** Items of a multiple field that a row holds of a value that is long. */
const mostItems = 20;

export interface Row {
  readonly id: string;
  /** With the values of expanded relations under `expand`. */
  readonly record: StoredRecord;
  /** The fields that are cut: `record` has their beginning, as a text or as the first items. */
  readonly cut: ReadonlySet<string>;
  /** By field, the text around what a search has found. */
  readonly found?: ReadonlyMap<string, readonly Piece[]>;
}

const nothingCut: ReadonlySet<string> = new Set();

/** Whether a value may be one of several items, of which a cell shows the first. */
function isItems(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string" && item.length <= longestText);
}

/** A JSON value in one line. */
function oneLine(value: JsonValue): string {
  return JSON.stringify(value);
}

export function toRow(record: StoredRecord): Row {
  let cut: Set<string> | null = null;
  let held: StoredRecord = record;
  for (const [name, value] of Object.entries(record)) {
    if (value === null || name === "expand") continue;
    const text = typeof value === "string" ? value : typeof value === "object" ? oneLine(value) : "";
    if (text.length <= longestText) continue;
    if (held === record) held = { ...record };
    // The copy lets go of the long text; a slice alone would keep it in memory.
    const shown = isItems(value) ? value.slice(0, mostItems) : text.slice(0, longestShown).toWellFormed();
    held[name] = JSON.parse(JSON.stringify(shown)) as JsonValue;
    cut ??= new Set();
    cut.add(name);
  }
  return { id: record.id, record: held, cut: cut ?? nothingCut };
}

/** A record of a search with snippets. */
export function toFoundRow({ snippet, ...record }: StoredRecord): Row {
  const row = toRow(record);
  if (typeof snippet !== "object" || snippet === null) return row;
  const found = new Map<string, readonly Piece[]>();
  for (const [field, html] of Object.entries(snippet)) {
    const pieces = typeof html === "string" ? piecesOf(html) : null;
    if (pieces !== null) found.set(field, pieces);
  }
  return { ...row, found };
}

/** Pixels of the narrowest letter in the grid's font. */
const narrowestLetter = 3;

/**
 * The one line of text that a cell shows, with marks for line breaks.
 * @param width of the cell in pixels. Letters past its edge are left out: a browser would shape them with each row that comes.
 */
export function shownText(text: string, width = Number.POSITIVE_INFINITY): string {
  const most = Math.min(longestShown, Math.ceil(width / narrowestLetter));
  const shown = text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
  return shown.replaceAll(/\r\n|\r|\n/g, " ⏎ ").replaceAll("\t", " ");
}

export function shownJson(value: JsonValue, isCut: boolean): string {
  if (isCut && typeof value === "string") return value;
  const line = oneLine(value).slice(0, longestShown);
  return isCut ? `${line.replace(/]$/, ",")}…` : line;
}

/** The record of one item of a multiple relation from `expand`, or undefined. */
export function expandedItem(
  record: StoredRecord,
  field: string,
  id: string,
): { [name: string]: JsonValue } | undefined {
  const all = record["expand"];
  const items = isObject(all) ? all[field] : undefined;
  return Array.isArray(items) ? items.filter(isObject).find((item) => item["id"] === id) : undefined;
}

function isObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The record of a relation from `expand`, or undefined. */
export function expanded(record: StoredRecord, field: string): { [name: string]: JsonValue } | null | undefined {
  const all = record["expand"];
  if (typeof all !== "object" || all === null || Array.isArray(all)) return undefined;
  const target = all[field];
  return typeof target === "object" && !Array.isArray(target) ? target : undefined;
}
