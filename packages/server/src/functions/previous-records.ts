/**
 * The record before a change, as deliveries keep it. A large record is kept once for all updates that wait: a delivery
 * follows the one whose event made the record that was there before its own change, and is given a copy when that one ends.
 */
import type { Reader, Transactor } from "../database/index.ts";
import type { EventLog, LoggedEvent } from "../events/index.ts";
import { eventOf } from "./delivery-events.ts";
import { chainRow, followersOf, openWithResult, type PreviousRecord, setPrevious } from "./delivery-table.ts";

/** Characters of a record's JSON from which on updates share it. */
const largeRecord = 4_096;

export class PreviousRecords {
  readonly #events: EventLog;

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** The digest of a record by which a later delivery finds the event that made it; null for a small one. */
  digestOf(json: string | null): string | null {
    if (json === null || json.length <= largeRecord) return null;
    return new Bun.CryptoHasher("sha256").update(json).digest("base64");
  }

  /** Where a delivery of a handler has its record from: from the waiting delivery whose event made it, if there is one. */
  async find(tx: Transactor, handler: number, record: { json: string; digest: string }): Promise<PreviousRecord> {
    const follows = await openWithResult(tx, record.digest, handler);
    return { previous: follows === null ? record.json : null, follows };
  }

  /** The JSON of a record; null when there was none, undefined when the delivery that it follows has ended meanwhile. */
  async read(reader: Reader, { previous, follows }: PreviousRecord): Promise<string | null | undefined> {
    if (follows === null) return previous;
    const changes: object[] = [];
    let base: object | null = null;
    for (let id: number | null = follows; id !== null && base === null; ) {
      const row: Awaited<ReturnType<typeof chainRow>> = await chainRow(reader, id);
      const event: LoggedEvent | null = row === null ? null : await eventOf(this.#events, row, reader);
      if (row === null || event === null) return undefined;
      if (event.isPartial) changes.push(event.payload);
      else base = event.payload;
      // The text was written from a record.
      if (event.isPartial && row.follows === null) base = JSON.parse(row.previous ?? "{}") as object;
      id = row.follows;
    }
    return JSON.stringify(Object.assign({}, base, ...changes.reverse()));
  }

  /** A delivery ends: those that follow it get the record that its event made. */
  async release(tx: Transactor, id: number): Promise<void> {
    const followers = await followersOf(tx, id);
    if (followers.length === 0) return;
    const record = await this.read(tx, { previous: null, follows: id });
    if (record === undefined) throw new Error("The event of a function's run is not in the log");
    for (const follower of followers) await setPrevious(tx, follower, record);
  }
}
