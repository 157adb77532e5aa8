/** The table of deliveries: a table of runs (runs/run-table.ts) with an event, and the record before its change. */
import { type ModuleSchema, type Reader, stopProbe, type Transactor, type Value } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import { FailedRuns, handlerTable, type RunHead, RunTable } from "../runs/index.ts";
import { firstIdOf, lastIdOf } from "./delivery-id.ts";

export const functionSchema: ModuleSchema = {
  module: "functions",
  steps: [
    handlerTable,
    // A table of runs (runs/run-table.ts). The id is made of the event's place in the log (delivery-id.ts). `event` is a
    // copy, made when the log loses the event, or when the last attempt has failed.
    `CREATE TABLE _deliveries (
      id INTEGER PRIMARY KEY,
      handler INTEGER NOT NULL,
      subject TEXT NOT NULL,
      depth INTEGER NOT NULL,
      previous TEXT,
      failures INTEGER NOT NULL DEFAULT 0,
      notBefore INTEGER NOT NULL DEFAULT 0,
      failedAt INTEGER,
      error TEXT,
      event TEXT
    ) STRICT`,
    "CREATE INDEX _deliveries_failed ON _deliveries (failedAt) WHERE failedAt IS NOT NULL",
    // Shared records (previous-records.ts): `follows` is the delivery whose event made the record before this change, and
    // `result` the digest of the record that this event made.
    "ALTER TABLE _deliveries ADD COLUMN follows INTEGER",
    "ALTER TABLE _deliveries ADD COLUMN result TEXT",
    "CREATE INDEX _deliveries_follows ON _deliveries (follows) WHERE follows IS NOT NULL",
    "CREATE INDEX _deliveries_result ON _deliveries (result, handler) WHERE result IS NOT NULL",
    // JSON of the functions, jobs and hooks that led to the event; null for none.
    "ALTER TABLE _deliveries ADD COLUMN chain TEXT",
  ],
};

/** The part of a delivery that the dispatcher keeps in memory. */
export interface DeliveryHead extends RunHead {
  /** The id of the record, or user, that the event is about. */
  readonly subject: string;
}

/** The record before a change: its JSON, or the id of the delivery whose event made it. */
export interface PreviousRecord {
  readonly previous: string | null;
  readonly follows: number | null;
}

interface NewDelivery extends PreviousRecord {
  readonly id: number;
  readonly handler: number;
  readonly subject: string;
  readonly depth: number;
  /** JSON; null for none. */
  readonly chain: string | null;
  readonly result: string | null;
}

/** `event` is the JSON of a copy; null while the log has the event. */
interface WithEvent {
  readonly event: string | null;
}

/** `at` and `type` are those of the copy of its event, null while the log has the event. */
export interface OpenRow extends Pick<DeliveryHead, "id" | "path" | "handler" | "failures" | "notBefore"> {
  readonly at: number | null;
  readonly type: string | null;
}

/** The deliveries that are meant; null for any. */
export interface OpenFilter {
  readonly path: string | null;
  /** Ids of deliveries: only these, or all but these. */
  readonly among: readonly number[] | null;
  readonly except: readonly number[] | null;
}

export const deliveryTable = new RunTable("_deliveries");

export const failedDeliveries = (): FailedRuns =>
  new FailedRuns({
    table: "_deliveries",
    bytes: "octet_length(coalesce(previous, '')) + octet_length(event) + octet_length(error)",
  });

const headColumns = `${deliveryTable.headColumns}, r.subject`;

export function insertDelivery(tx: Transactor, row: NewDelivery): Awaitable<unknown> {
  const { id, handler, subject, depth, previous, follows, result, chain } = row;
  return tx.run(
    "INSERT INTO _deliveries (id, handler, subject, depth, previous, follows, result, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    id,
    handler,
    subject,
    depth,
    previous,
    follows,
    result,
    chain,
  );
}

/** The greatest id of those that are not over; 0 for none. */
export async function lastOpenId(reader: Reader): Promise<number> {
  const row = await reader.get<{ id: number | null }>("SELECT max(id) AS id FROM _deliveries WHERE failedAt IS NULL");
  return row?.id ?? 0;
}

/** Those that wait for some handlers, in the order of commits: after one id, up to another. */
export function openHeads(
  reader: Reader,
  handlers: readonly number[],
  { after, until, limit }: { after: number; until: number; limit: number },
): Awaitable<DeliveryHead[]> {
  return reader.all<DeliveryHead>(
    `SELECT ${headColumns} FROM ${deliveryTable.source} WHERE r.id > ? AND r.id <= ? AND r.failedAt IS NULL
     AND r.handler IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?`,
    after,
    until,
    JSON.stringify(handlers),
    limit,
  );
}

export function openDelivery(
  reader: Reader,
  id: number,
): Awaitable<(PreviousRecord & WithEvent & { readonly depth: number; readonly chain: string | null }) | null> {
  return reader.get(
    "SELECT depth, chain, previous, follows, event FROM _deliveries WHERE id = ? AND failedAt IS NULL",
    id,
  );
}

/** The one that has waited longest. */
export function oldestOpen(reader: Reader): Awaitable<(WithEvent & { readonly id: number }) | null> {
  return reader.get("SELECT id, event FROM _deliveries WHERE failedAt IS NULL ORDER BY id LIMIT 1");
}

export function headOf(
  reader: Reader,
  id: number,
): Awaitable<(DeliveryHead & WithEvent & { readonly failedAt: number | null }) | null> {
  return reader.get(`SELECT ${headColumns}, r.failedAt, r.event FROM ${deliveryTable.source} WHERE r.id = ?`, id);
}

/** The record and event of a delivery, also of one that has failed. */
export function chainRow(
  reader: Reader,
  id: number,
): Awaitable<(PreviousRecord & WithEvent & { readonly id: number }) | null> {
  return reader.get("SELECT id, previous, follows, event FROM _deliveries WHERE id = ?", id);
}

/** The newest delivery of a handler whose event made the record of a digest. */
export async function openWithResult(reader: Reader, digest: string, handler: number): Promise<number | null> {
  const row = await reader.get<{ id: number }>(
    "SELECT id FROM _deliveries WHERE result = ? AND handler = ? AND failedAt IS NULL ORDER BY id DESC LIMIT 1",
    digest,
    handler,
  );
  return row?.id ?? null;
}

export async function followersOf(reader: Reader, id: number): Promise<number[]> {
  const rows = await reader.all<{ id: number }>("SELECT id FROM _deliveries WHERE follows = ?", id);
  return rows.map((row) => row.id);
}

/** Gives a delivery its own copy of the record before the change. */
export function setPrevious(tx: Transactor, id: number, previous: string | null): Awaitable<unknown> {
  return tx.run("UPDATE _deliveries SET previous = ?, follows = NULL WHERE id = ?", previous, id);
}

export function setEvent(tx: Transactor, id: number, event: string): Awaitable<unknown> {
  return tx.run("UPDATE _deliveries SET event = ? WHERE id = ?", event, id);
}

/** The ids of deliveries that have no copy of their event, of the events from one place of the log to another. */
export async function withoutCopy(reader: Reader, first: number, last: number): Promise<number[]> {
  // Deliveries of older events have their copies; a look at those would read everything that waits.
  const rows = await reader.all<{ id: number }>(
    "SELECT id FROM _deliveries WHERE id >= ? AND id <= ? AND event IS NULL",
    firstIdOf(first),
    lastIdOf(last),
  );
  return rows.map(({ id }) => id);
}

/**
 * Those of a filter that are not over, newest first, with their number.
 * @param countAll their number where the filter is for any.
 */
export async function searchOpen(
  reader: Reader,
  filter: OpenFilter,
  { limit, offset, countAll }: { limit: number; offset: number; countAll: () => Promise<number> },
): Promise<{ rows: OpenRow[]; total: number }> {
  const conditions = ["r.failedAt IS NULL"];
  const values: Value[] = [];
  const ask = (condition: string, value: string): void => {
    conditions.push(condition);
    values.push(value);
  };
  if (filter.path !== null) ask("h.path = ?", filter.path);
  if (filter.among !== null) ask("r.id IN (SELECT value FROM json_each(?))", JSON.stringify(filter.among));
  if (filter.except !== null) ask("r.id NOT IN (SELECT value FROM json_each(?))", JSON.stringify(filter.except));
  const isFiltered = values.length > 0;
  const where = [...(isFiltered ? [stopProbe("r")] : []), ...conditions].join(" AND ");
  const countSql = `SELECT count(*) AS n FROM ${deliveryTable.source} WHERE ${where}`;
  const total = isFiltered ? ((await reader.get<{ n: number }>(countSql, ...values))?.n ?? 0) : await countAll();
  const rows = await reader.all<OpenRow>(
    `SELECT ${deliveryTable.headColumns}, json_extract(r.event, '$.at') AS at, json_extract(r.event, '$.type') AS type
     FROM ${deliveryTable.source} WHERE ${where} ORDER BY r.id DESC LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { rows, total };
}
