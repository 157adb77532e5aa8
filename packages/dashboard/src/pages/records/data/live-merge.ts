/** Merges changes from the socket into the pages of the grid. */
import type { Event, JsonValue, StoredRecord } from "@socle/protocol";
import { isObject } from "../../../kit/diff.ts";
import { type Row, toRow } from "./rows.ts";

export interface RowPage {
  /** The position of the page's first record in the whole list. */
  readonly start: number;
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

/** The last change of a record since the last merge. */
export type Change =
  | { readonly type: "created" | "updated"; readonly record: StoredRecord }
  | { readonly type: "deleted"; readonly id: string };

/** The change of an event of a collection; null for a payload that is no record. */
export function changeOf({ type, payload }: Pick<Event, "type" | "payload">): Change | null {
  if (type.endsWith(".deleted"))
    return typeof payload["id"] === "string" ? { type: "deleted", id: payload["id"] } : null;
  return isRecord(payload) ? { type: type.endsWith(".created") ? "created" : "updated", record: payload } : null;
}

function isRecord(payload: Event["payload"]): payload is StoredRecord {
  return typeof payload["id"] === "string" && typeof payload["updatedAt"] === "string";
}

/** Changes by the record's id: a later change replaces earlier changes. */
export type Changes = Map<string, Change>;

export function collect(changes: Changes, change: Change): void {
  const id = change.type === "deleted" ? change.id : change.record.id;
  const before = changes.get(id);
  // A created record stays new after an update; a deletion replaces the creation.
  if (before?.type === "created" && change.type === "updated") changes.set(id, { ...change, type: "created" });
  else changes.set(id, change);
}

export interface Merged {
  readonly pages: readonly RowPage[];
  readonly updated: readonly string[];
  readonly entered: readonly string[];
  /** Deleted records of the pages, kept for the fade-out. */
  readonly gone: readonly string[];
  /** The number of new records that the merge left out. */
  readonly waiting: number;
  /** Whether a record outside the loaded pages has changed. */
  readonly isStale: boolean;
}

/** The names under `expand` stay as long as the relation points to the same record. */
function keepExpanded(before: StoredRecord, after: StoredRecord): StoredRecord {
  const old = before["expand"];
  if (!isObject(old)) return after;
  const kept = Object.fromEntries(Object.entries(old).filter(([field]) => before[field] === after[field]));
  return { ...after, expand: kept };
}

/**
 * Merges changes into pages.
 * @param mayEnter the most new records at the top; 0 when the list is filtered, sorted or scrolled.
 */
export function mergeChanges(pages: readonly RowPage[], changes: Changes, mayEnter: number): Merged {
  const updated: string[] = [];
  const gone: string[] = [];
  const known = new Set<string>();
  const merged = pages.map((page) => {
    let rows: Row[] | null = null;
    for (const [i, row] of page.rows.entries()) {
      const change = changes.get(row.id);
      if (change === undefined) continue;
      known.add(row.id);
      if (change.type === "deleted") {
        gone.push(row.id);
        continue;
      }
      // The answer of a request may be newer than the event.
      if (change.record.updatedAt <= row.record.updatedAt) continue;
      rows ??= [...page.rows];
      rows[i] = toRow(keepExpanded(row.record, change.record));
      updated.push(row.id);
    }
    return rows === null ? page : { ...page, rows };
  });
  const fresh: Row[] = [];
  let waiting = 0;
  let isStale = false;
  for (const [id, change] of changes) {
    if (known.has(id)) continue;
    if (change.type !== "created") isStale = true;
    else if (fresh.length < mayEnter) fresh.push(toRow(change.record));
    else waiting += 1;
  }
  // The newest records come first.
  fresh.sort((a, b) => (a.id < b.id ? 1 : -1));
  const [first, ...rest] = merged;
  const entering = first !== undefined && fresh.length > 0;
  return {
    pages: entering
      ? [
          { ...first, rows: [...fresh, ...first.rows] },
          ...rest.map((page) => ({ ...page, start: page.start + fresh.length })),
        ]
      : merged,
    updated,
    entered: entering ? fresh.map(({ id }) => id) : [],
    gone,
    waiting: waiting + (entering ? 0 : fresh.length),
    isStale,
  };
}

/** The pages without the given records. */
export function withoutRows(pages: readonly RowPage[], ids: ReadonlySet<string>): RowPage[] {
  let removed = 0;
  return pages.map((page) => {
    const rows = page.rows.filter(({ id }) => !ids.has(id));
    const moved = { ...page, start: page.start - removed, rows };
    removed += page.rows.length - rows.length;
    return rows.length === page.rows.length && moved.start === page.start ? page : moved;
  });
}

function idOf(item: JsonValue): string {
  return typeof item === "object" && item !== null && "id" in item ? String(item["id"]) : "";
}

/**
 * The pages after the deletion of records that are targets of relations: `expand` has no name for the deleted records.
 */
export function withoutTargets(
  pages: readonly RowPage[],
  fields: readonly string[],
  gone: ReadonlySet<string>,
): RowPage[] {
  return pages.map((page) => {
    let rows: Row[] | null = null;
    for (const [i, row] of page.rows.entries()) {
      const broken = fields.filter((field) => [row.record[field]].flat().some((id) => gone.has(String(id))));
      if (broken.length === 0) continue;
      const before = row.record["expand"];
      const expand = typeof before === "object" && !Array.isArray(before) ? before : null;
      // For a multiple relation, `expand` does not contain deleted records.
      const left = (field: string): JsonValue => {
        const shown = expand?.[field];
        if (Array.isArray(shown)) return shown.filter((item) => !gone.has(idOf(item)));
        return Array.isArray(row.record[field]) ? [] : null;
      };
      const emptied = Object.fromEntries(broken.map((field) => [field, left(field)]));
      rows ??= [...page.rows];
      rows[i] = { ...row, record: { ...row.record, expand: { ...expand, ...emptied } } };
    }
    return rows === null ? page : { ...page, rows };
  });
}
