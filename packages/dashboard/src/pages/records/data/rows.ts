/** Records in the memory of the grid: long values are cut, so that memory and the page stay bounded. */
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { isObject, type Values } from "../../../kit/diff.ts";
import { visible } from "../../../kit/format.ts";
import { type Piece, piecesOf } from "./full-text-search.ts";

/** The longest text that a row keeps in full; the user can edit the text in the grid. */
const longestText = 1_000;
/** Most characters in a cell. */
const longestShown = 240;
/** Most items that a row keeps of a long multiple value. */
const mostItems = 20;

export interface Row {
  readonly id: string;
  /** The record, with the values of expanded relations under `expand`. */
  readonly record: StoredRecord;
  /** The cut fields: `record` has their beginning, as a text or as the first items. */
  readonly cut: ReadonlySet<string>;
  /** The text around the matches of a search, by field. */
  readonly found?: ReadonlyMap<string, readonly Piece[]>;
}

const nothingCut: ReadonlySet<string> = new Set();

/** Whether a value is a list of short texts. A cell shows the first items. */
function isItems(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string" && item.length <= longestText);
}

export function toRow(record: StoredRecord): Row {
  let cut: Set<string> | null = null;
  let held: StoredRecord = record;
  for (const [name, value] of Object.entries(record)) {
    if (value === null || name === "expand") continue;
    const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : "";
    if (text.length <= longestText) continue;
    if (held === record) held = { ...record };
    // The copy releases the long text; a slice alone would keep the long text in memory.
    const shown = isItems(value) ? value.slice(0, mostItems) : text.slice(0, longestShown).toWellFormed();
    held[name] = JSON.parse(JSON.stringify(shown)) as JsonValue;
    cut ??= new Set();
    cut.add(name);
  }
  return { id: record.id, record: held, cut: cut ?? nothingCut };
}

/** The row of a search result with snippets. */
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
 * The text of a cell in a single line, with marks for line breaks.
 * @param width of the cell in pixels. Letters past the edge are cut: a browser would shape the letters for each new row.
 */
export function shownText(text: string, width = Number.POSITIVE_INFINITY): string {
  const most = Math.min(longestShown, Math.ceil(width / narrowestLetter));
  const shown = text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
  return visible(shown.replaceAll(/\r\n|\r|\n/g, " ⏎ ").replaceAll("\t", " "));
}

export function shownJson(value: JsonValue, isCut: boolean): string {
  if (isCut && typeof value === "string") return visible(value);
  const line = visible(JSON.stringify(value).slice(0, longestShown));
  return isCut ? `${line.replace(/]$/, ",")}…` : line;
}

/**
 * The record of a relation from `expand`: null for a deleted record, undefined without an answer. @param id of the record, which
 * finds the item of a multiple relation.
 */
export function expanded(record: StoredRecord, field: string, id: string): Values | null | undefined {
  const all = record["expand"];
  const target: unknown = isObject(all) ? all[field] : undefined;
  if (Array.isArray(target)) return target.filter(isObject).find((item) => item["id"] === id);
  return target === null || isObject(target) ? target : undefined;
}
