/** Former states: whether a record fulfilled a filter before a logged change, as far as the log has kept its values. */
import type { JsonValue } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { LoggedEvent } from "../events/index.ts";
import { recordTableOf } from "../records/index.ts";
import type { Listener } from "./audience.ts";
import type { Filter } from "./filter.ts";

type Fields = { readonly [name: string]: JsonValue };

/** The change that is looked at: the record as it became, null where it is gone, and whether it then fulfilled the filter. */
interface Change {
  readonly collection: Collection;
  readonly filter: Filter;
  readonly became: Fields | null;
  readonly fulfils: boolean;
}

/**
 * Whether a record fulfilled a filter before a change; null where the log has not kept enough to tell.
 * @throws FrameError where the filter cannot be asked any more.
 */
export function fulfilledBefore(event: LoggedEvent, listener: Listener, change: Change): boolean | null {
  if (event.type.endsWith(".created")) return false;
  const { basis } = event;
  const { collection, filter, became, fulfils } = change;
  // Fields may have had other names, and events from earlier versions have no former values.
  if (basis === null || event.seq <= collection.logMarks.fields) return null;
  const table = recordTableOf(collection);
  const { fields, omitted = [], owner } = basis;
  const asked = [...filter.columns()];
  const namesOf = (names: readonly string[]): Set<string> => new Set(names.map((name) => table.columnName(name)));
  const changed = namesOf([...Object.keys(fields), ...omitted]);
  if (became !== null && !asked.some((column) => changed.has(column))) return fulfils;
  const known = namesOf([...Object.keys(fields), ...(event.isPartial ? [] : Object.keys(became ?? {}))]);
  const missing = namesOf(omitted);
  if (asked.some((column) => missing.has(column) || !known.has(column))) return null;
  // A basis is read from JSON.
  const former = fields as Fields;
  return filter.holds({ record: { ...(event.isPartial ? {} : became), ...former }, owner }, listener);
}
