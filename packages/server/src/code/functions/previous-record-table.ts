/**
 * The record before a change, as deliveries keep it. A large record is kept once for all updates that wait: a delivery
 * follows the delivery whose event made the record of before its own change, and is given a copy when that delivery ends.
 */
import type { Reader, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { eventOf } from "./delivery-event.ts";

/** Characters of a record's JSON from which on updates share the record. */
const largeRecord = 4_096;

/** The record before a change: its JSON, or the id of the delivery whose event made the record. */
export interface PreviousRecord {
  readonly previous: string | null;
  readonly follows: number | null;
}

interface ChainRow extends PreviousRecord {
  readonly id: number;
  readonly event: string | null;
}

/** The digest of a record, by which a later delivery finds the event that made the record; null for a small record. */
export function digestOf(json: string | null): string | null {
  if (json === null || json.length <= largeRecord) return null;
  return new Bun.CryptoHasher("sha256").update(json).digest("base64");
}

/** A delivery of a handler has its record from the newest waiting delivery whose event made the record, or keeps the JSON. */
export function findPrevious(tx: Transactor, handler: number, json: string | null): PreviousRecord {
  const digest = digestOf(json);
  if (digest === null) return { previous: json, follows: null };
  const row = tx.get<{ id: number }>(
    "SELECT id FROM _deliveries WHERE result = ? AND handler = ? AND failedAt IS NULL ORDER BY id DESC LIMIT 1",
    digest,
    handler,
  );
  return row === null ? { previous: json, follows: null } : { previous: null, follows: row.id };
}

/** The JSON of a record; null without a record, undefined when the followed delivery has ended meanwhile. */
export function readPrevious(
  log: EventLog,
  { previous, follows }: PreviousRecord,
  reader: Reader,
): string | null | undefined {
  if (follows === null) return previous;
  const changes: object[] = [];
  let base: object | null = null;
  for (let id: number | null = follows; id !== null && base === null; ) {
    const row: ChainRow | null = reader.get("SELECT id, previous, follows, event FROM _deliveries WHERE id = ?", id);
    const event = row === null ? null : eventOf(log, row, reader);
    if (row === null || event === null) return undefined;
    if (event.isPartial) changes.push(event.payload);
    else base = event.payload;
    // The text was written from a record.
    if (event.isPartial && row.follows === null) base = JSON.parse(row.previous ?? "{}") as object;
    id = row.follows;
  }
  return JSON.stringify(Object.assign({}, base, ...changes.reverse()));
}

/** Gives a delivery its own copy of the record before the change. */
export function setPrevious(tx: Transactor, id: number, previous: string | null): void {
  tx.run("UPDATE _deliveries SET previous = ?, follows = NULL WHERE id = ?", previous, id);
}

/** A delivery ends: its followers get the record that its event made. */
export function releaseFollowers(log: EventLog, tx: Transactor, id: number): void {
  const followers = tx.all<{ id: number }>("SELECT id FROM _deliveries WHERE follows = ?", id);
  if (followers.length === 0) return;
  const record = readPrevious(log, { previous: null, follows: id }, tx);
  if (record === undefined) throw new Error("The event of a function's run is not in the log");
  for (const follower of followers) setPrevious(tx, follower.id, record);
}
