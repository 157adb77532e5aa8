/** The history of a record, from its events: the changes of each event. */
import type { EventEntry } from "@socle/protocol";
import { type FieldChange, isSame } from "../kit/diff.ts";

export interface HistoryEntry {
  readonly event: EventEntry;
  readonly kind: "created" | "updated" | "deleted";
  readonly changes: readonly FieldChange[];
  /** False when only an older event could tell the changes. */
  readonly isComplete: boolean;
}

const systemFields = ["id", "createdAt", "updatedAt"];

type Values = { readonly [field: string]: unknown };

/** The changes by an update: the log holds the new values of the fields; a field that the log does not name has not changed. */
function differences(before: Values, after: Values, kind: FieldChange["kind"]): FieldChange[] {
  const names = Object.keys(after).filter((name) => !systemFields.includes(name));
  return names
    .filter((name) => !isSame(before[name], after[name]))
    .map((field) => ({ field, kind, before: before[field], after: after[field] }));
}

function kindOf(event: EventEntry): HistoryEntry["kind"] {
  if (event.type.endsWith(".created")) return "created";
  return event.type.endsWith(".deleted") ? "deleted" : "updated";
}

/** @param events the events of a single record, newest first. The answer has the same order. */
export function historyOf(events: readonly EventEntry[]): readonly HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  // The known values of the record before the next event; null for no known values.
  let known: Values | null = null;
  for (const event of [...events].reverse()) {
    const kind = kindOf(event);
    const { payload } = event;
    if (kind === "deleted") {
      entries.push({ event, kind, changes: [], isComplete: true });
      known = null;
      continue;
    }
    if (kind === "created") {
      const filled = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== null));
      entries.push({ event, kind, changes: differences({}, filled, "added"), isComplete: true });
      known = payload;
      continue;
    }
    // The event of a large record holds the changes, without the earlier values.
    if (event.partial === true)
      entries.push({ event, kind, changes: differences(known ?? {}, payload, "changed"), isComplete: true });
    else if (known === null) entries.push({ event, kind, changes: [], isComplete: false });
    else entries.push({ event, kind, changes: differences(known, payload, "changed"), isComplete: true });
    // After a partial event alone, the other fields stay unknown.
    known = event.partial === true ? (known === null ? null : { ...known, ...payload }) : payload;
  }
  return entries.reverse();
}
