/** Records as the grid holds them: what is long is cut, so that memory and the page stay bounded. */
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { type Piece, piecesOf } from "./found.ts";

/** A text of this length is held whole and can be edited in the grid. */
const longestText = 1_000;
/** A cell shows no more. */
const longestShown = 240;

export interface Row {
  readonly id: string;
  /** With the values of expanded relations under `expand`. */
  readonly record: StoredRecord;
  /** The fields that are cut: `record` has their beginning as a text. */
  readonly cut: ReadonlySet<string>;
  /** By field, the text around what a search has found. */
  readonly found?: ReadonlyMap<string, readonly Piece[]>;
}

const nothingCut: ReadonlySet<string> = new Set();

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
    held[name] = JSON.parse(JSON.stringify(text.slice(0, longestShown).toWellFormed())) as string;
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

/** The one line of text that a cell shows, with marks for line breaks. */
export function shownText(text: string): string {
  return text
    .slice(0, longestShown)
    .replaceAll(/\r\n|\r|\n/g, " ⏎ ")
    .replaceAll("\t", " ");
}

export function shownJson(value: JsonValue, isCut: boolean): string {
  return isCut && typeof value === "string" ? value : oneLine(value).slice(0, longestShown);
}

/** The record of a relation from `expand`, or undefined. */
export function expanded(record: StoredRecord, field: string): { [name: string]: JsonValue } | null | undefined {
  const all = record["expand"];
  if (typeof all !== "object" || all === null || Array.isArray(all)) return undefined;
  const target = all[field];
  return typeof target === "object" && !Array.isArray(target) ? target : undefined;
}
