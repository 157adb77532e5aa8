/** Former states: whether a record fulfilled a filter before a logged change, as far as the log has kept the values. */
import type { JsonValue } from "@socle/protocol";
import type { Collection } from "../../data/collections/index.ts";
import { recordTableOf } from "../../data/records/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import type { FilterOfOne } from "./filter.ts";

type Fields = { readonly [name: string]: JsonValue };

/** A change: the record after the change, null for a deletion, and whether that record fulfilled the filter. */
interface Change {
  readonly collection: Collection;
  readonly filter: FilterOfOne;
  readonly became: Fields | null;
  readonly fulfils: boolean;
}

/**
 * Whether a record fulfilled a filter before a change; null if the log has not kept enough to tell.
 * @throws FrameError if the filter cannot be asked any more.
 */
export async function fulfilledBefore(event: LoggedEvent, change: Change): Promise<boolean | null> {
  if (event.type.endsWith(".created")) return false;
  const { basis } = event;
  const { collection, filter, became, fulfils } = change;
  // Fields may have had other names, and events from earlier versions have no former values.
  if (basis === null || event.seq <= collection.logMarks.fields) return null;
  const table = recordTableOf(collection);
  const { fields, omitted = [], owner } = basis;
  // A basis is read from JSON.
  const other = became === null ? null : { record: became, owner: event.owner };
  const state = { record: { ...(event.isPartial ? {} : became), ...(fields as Fields) }, owner, other };
  const asked = [...filter.columns(state)];
  const namesOf = (names: readonly string[]): Set<string> => new Set(names.map((name) => table.columnName(name)));
  const changed = namesOf([...Object.keys(fields), ...omitted]);
  if (became !== null && !asked.some((column) => changed.has(column))) return fulfils;
  const known = namesOf([...Object.keys(fields), ...(event.isPartial ? [] : Object.keys(became ?? {}))]);
  const missing = namesOf(omitted);
  if (asked.some((column) => missing.has(column) || !known.has(column))) return null;
  return filter.holds(state);
}
