/** The history of one record, from its events: what each of them changed. */
import type { EventEntry } from "@socle/protocol";
import { type FieldChange, isSame } from "../kit/diff.ts";

export interface HistoryEntry {
  readonly event: EventEntry;
  readonly kind: "created" | "updated" | "deleted";
  readonly changes: readonly FieldChange[];
  /** False where an older event would be needed to say what changed. */
  readonly isComplete: boolean;
}

const systemFields = ["id", "createdAt", "updatedAt"];

type Values = { readonly [field: string]: unknown };

/** Of an update, the log says the new values of the fields; a field that it does not name has not changed. */
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

/** @param events those of one record, newest first. The answer is in the same order. */
export function historyOf(events: readonly EventEntry[]): readonly HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  // The record before the next event, as far as it is known; null when nothing is.
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
    // An event of a large record says what changed, and not what was before.
    if (event.partial === true)
      entries.push({ event, kind, changes: differences(known ?? {}, payload, "changed"), isComplete: true });
    else if (known === null) entries.push({ event, kind, changes: [], isComplete: false });
    else entries.push({ event, kind, changes: differences(known, payload, "changed"), isComplete: true });
    // Of a partial event alone it stays unknown what the other fields had.
    known = event.partial === true ? (known === null ? null : { ...known, ...payload }) : payload;
  }
  return entries.reverse();
}
