/** The events of a key, found by the index of the log: of a record, a request, a run, an import, an undo or a trace. */
import type { Database, Reader, SlowReader, Waiter } from "../database/index.ts";
import { type EventRow, eventsAtSql, LoggedEvent } from "./event-table.ts";
import { type KeySearch, seqsOf, seqsSlowly, unindexedFrom } from "./index-table.ts";

/** With more events than this number, a search would block the event loop. */
export const manyEvents = 20_000;

/** The events of a trace that are looked for. */
const maxOfTrace = 100_000;

/** Chooses among the seqs of the events that may have a key, newest first. */
type Pick = (seqs: readonly number[]) => readonly number[];

interface SearchOptions {
  readonly waiter: Waiter;
  /** The seq of the newest event of the log. */
  readonly newest: number;
  readonly pick?: Pick;
}

/** How many of the first and of the last events of a trace are wanted. */
export interface TraceBounds {
  readonly first: number;
  readonly last: number;
}

/** The events that have a key, of the events that may have the key. */
function withKey(key: string, rows: readonly EventRow[]): LoggedEvent[] {
  return rows.map((row) => new LoggedEvent(row)).filter(({ keys }) => keys.includes(key));
}

/**
 * The events of a key, newest first: of a record by the id; by the id of a request, a run, an import or an undo, the changes with that cause, and the
 * changes that followed from the changes; of a run also the steps of the run. A log whose index is not whole is read on a thread.
 */
export async function eventsByKey(
  database: Database,
  search: KeySearch,
  { waiter, newest, pick = (seqs) => seqs }: SearchOptions,
): Promise<LoggedEvent[]> {
  const { reader } = database;
  if (newest - unindexedFrom(reader) <= manyEvents) return eventsByKeyIn(reader, search, pick);
  const read = async (thread: SlowReader): Promise<EventRow[]> =>
    thread.all<EventRow>(eventsAtSql, JSON.stringify(pick(await seqsSlowly(thread, search))));
  return withKey(search.key, await database.readOnThread(read, waiter));
}

/** As `eventsByKey`, in the view of a reader. */
export function eventsByKeyIn(reader: Reader, search: KeySearch, pick: Pick = (seqs) => seqs): LoggedEvent[] {
  return withKey(search.key, reader.all<EventRow>(eventsAtSql, JSON.stringify(pick(seqsOf(reader, search)))));
}

/**
 * The events of a trace, oldest first: the changes and the steps of runs that follow from a first cause. Of many events, the first and the last.
 * @param key the id of the first cause.
 */
export async function eventsOfTrace(
  database: Database,
  key: string,
  { first, last, ...options }: TraceBounds & Omit<SearchOptions, "pick">,
): Promise<{ events: LoggedEvent[]; isWhole: boolean }> {
  let isWhole = true;
  const pick: Pick = (seqs) => {
    isWhole = seqs.length <= first + last;
    return isWhole ? seqs : [...seqs.slice(0, last), ...seqs.slice(-first)];
  };
  const search = { key, before: Number.MAX_SAFE_INTEGER, limit: maxOfTrace };
  const events = await eventsByKey(database, search, { ...options, pick });
  return { events: events.reverse(), isWhole };
}
