/**
 * Deliveries: the runs of functions that are not over, or have failed for good. A delivery is written in the transaction
 * of the change that causes it, one for each event and each handler of its type, and refers to the event in the log.
 */
import type { Database, Reader, Transactor } from "../database/index.ts";
import type { AppendedEvent, EventLog, LoggedEvent } from "../events/index.ts";
import { AppError, type Awaitable, inTurn, maxDepth } from "../kernel/index.ts";
import { HandlerNumbers, type Postponement } from "../runs/index.ts";
import { eventOf, fromCopy, toCopy } from "./delivery-events.ts";
import { eventSeqOf, firstIdOf } from "./delivery-id.ts";
import {
  type DeliveryHead,
  deliveryTable,
  failedDeliveries,
  headOf,
  insertDelivery,
  lastOpenId,
  oldestOpen,
  openDelivery,
  openHeads,
  type PreviousRecord,
  setEvent,
  setPrevious,
  withoutCopy,
} from "./delivery-table.ts";
import { PreviousRecords } from "./previous-records.ts";
import type { Trigger } from "./triggers.ts";

export interface Delivery extends DeliveryHead {
  readonly event: LoggedEvent;
  /** JSON of the record before the change; null when there was none. */
  readonly previous: string | null;
  /** Functions that have caused this delivery, one after the other, itself included. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to its event, as `path:handler`. */
  readonly chain: readonly string[];
}

export class Deliveries {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #handlers: HandlerNumbers;
  readonly #records: PreviousRecords;
  readonly #failed = failedDeliveries();

  constructor(database: Database, events: EventLog) {
    this.#database = database;
    this.#events = events;
    this.#handlers = new HandlerNumbers(database);
    this.#records = new PreviousRecords(events);
  }

  /** The id of the last delivery that is on disk, at a start. */
  lastId(): Promise<number> {
    return lastOpenId(this.#database.reader);
  }

  /** Registers handlers. To be called before `add` has one. */
  name(triggers: readonly Trigger[]): Promise<void> {
    return this.#handlers.register(triggers);
  }

  /** Writes the deliveries of an event to these handlers, in the transaction of its change. */
  add(tx: Transactor, appended: AppendedEvent, triggers: readonly Trigger[]): Awaitable<unknown> {
    const { event, previous } = appended;
    const depth = appended.depth + 1;
    if (depth > maxDepth) throw chainTooLong(event, triggers);
    const json = previous === null ? null : JSON.stringify(previous);
    const digest = this.#records.digestOf(json);
    const result = json === null ? null : this.#records.digestOf(event.toRow().payload);
    const subject = event.subject ?? "";
    const chain = appended.chain.length === 0 ? null : JSON.stringify(appended.chain);
    let id = firstIdOf(event.seq);
    const insert = (handler: number, record: PreviousRecord): Awaitable<unknown> =>
      insertDelivery(tx, { id: id++, handler, subject, depth, chain, ...record, result });
    return inTurn(triggers, ({ path, handler }) => {
      const number = this.#handlers.of(`${path}:${handler}`);
      if (json === null || digest === null) return insert(number, { previous: json, follows: null });
      return this.#records.find(tx, number, { json, digest }).then((record) => insert(number, record));
    });
  }

  /** Deliveries that wait for some handlers, as `path:handler`, in the order of commits: after one id, up to another. */
  page(options: {
    after: number;
    until: number;
    limit: number;
    handlers: readonly string[];
  }): Awaitable<DeliveryHead[]> {
    const { handlers, ...range } = options;
    const numbers = handlers.map((name) => this.#handlers.of(name));
    return openHeads(this.#database.reader, numbers, range);
  }

  /** A delivery with its event; null when it is over. */
  async get(head: DeliveryHead, reader: Reader = this.#database.reader): Promise<Delivery | null> {
    // Between two reads, the delivery that this one follows may end, and leave it its record: then the second look finds it.
    for (let look = 1; look <= 2; look++) {
      const row = await openDelivery(reader, head.id);
      if (row === null) return null;
      const event = await eventOf(this.#events, { id: head.id, event: row.event }, reader);
      const previous = await this.#records.read(reader, row);
      if (previous === undefined) continue;
      // The service has written it.
      const chain = row.chain === null ? [] : (JSON.parse(row.chain) as string[]);
      return event === null ? null : { ...head, event, previous, depth: row.depth, chain };
    }
    throw new Error(`The record before the change is missing for run ${head.id}`);
  }

  /** Deliveries that wait or are under way, and those that have failed for good. */
  counts(): Promise<{ open: number; failed: number }> {
    return deliveryTable.counts(this.#database.reader);
  }

  /** The time of the event that has waited longest for a handler, in milliseconds since 1970; null when none waits. */
  async oldest(): Promise<number | null> {
    const { reader } = this.#database;
    const row = await oldestOpen(reader);
    if (row === null) return null;
    if (row.event !== null) {
      const { at, time } = fromCopy(row.event).toRow();
      return time ?? at;
    }
    const seq = eventSeqOf(row);
    return (await this.#events.headsAt([seq], reader)).get(seq)?.time ?? null;
  }

  /** The times of the last failure of some deliveries; those that have not failed are left out. */
  failed(ids: readonly number[]): Promise<Map<number, number>> {
    return this.#failed.timesOf(this.#database.reader, ids);
  }

  /**
   * Has a delivery that has failed for good wait again. Answers its head.
   * @param at the time of its event, which tells it from one of another event log.
   * @throws AppError `not_found`, or `bad_request` for one that is not over.
   */
  async reopen(tx: Transactor, id: number, at: number): Promise<DeliveryHead> {
    const row = await headOf(tx, id);
    const isSame = row !== null && (row.event === null || fromCopy(row.event).toRow().at === at);
    if (row === null || !isSame)
      throw new AppError(
        "not_found",
        "There is no such run, or it has completed; only one that has failed can be retried.",
      );
    if (row.failedAt === null)
      throw new AppError("bad_request", "The run is not over: it runs, or waits for its turn.");
    await deliveryTable.reopen(tx, id);
    const { path, handler, subject } = row;
    return { id, path, handler, subject, failures: 0, notBefore: 0 };
  }

  /** Files with deliveries that are not over, and how many. */
  waiting(): Awaitable<{ path: string; waiting: number }[]> {
    return deliveryTable.openByFile(this.#database.reader);
  }

  /** An attempt has failed, and another follows. */
  postpone(tx: Transactor, id: number, next: Postponement): Awaitable<unknown> {
    return deliveryTable.postpone(tx, id, next);
  }

  /** The delivery is over. */
  async remove(tx: Transactor, id: number): Promise<void> {
    await this.#records.release(tx, id);
    await deliveryTable.remove(tx, id);
  }

  /** The last attempt has failed. The delivery is kept with its event, among the newest that have failed. */
  async fail(
    tx: Transactor,
    { id, event, previous }: Delivery,
    { at, error }: { at: number; error: string },
  ): Promise<void> {
    const copy = toCopy(event);
    await this.#records.release(tx, id);
    await deliveryTable.fail(tx, id, { at, error });
    await setEvent(tx, id, copy);
    await setPrevious(tx, id, previous);
    await this.#failed.trim(tx, Buffer.byteLength(copy) + Buffer.byteLength(previous ?? "") + Buffer.byteLength(error));
  }

  /** Copies the events that the log is about to lose, from one place to another, into the deliveries that need them. */
  async keepEvents(tx: Transactor, first: number, last: number): Promise<void> {
    for (const id of await withoutCopy(tx, first, last)) {
      const event = await this.#events.at(eventSeqOf({ id }), tx);
      if (event !== null) await setEvent(tx, id, toCopy(event));
    }
  }
}

function chainTooLong(event: LoggedEvent, triggers: readonly Trigger[]): AppError {
  const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions and hooks, each started by a change that the one before it made, would go on with ${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
  );
}
