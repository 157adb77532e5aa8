/** The deliveries that are not over, for the list of runs. */
import { type Database, stopProbe, type Value, type Waiter } from "../database/index.ts";
import type { EventLog, EventStamp } from "../events/index.ts";
import { type DeliveryHead, deliveryTable } from "./deliveries.ts";
import { eventSeqOf } from "./delivery-id.ts";

/** A delivery that is not over. */
export interface OpenDelivery extends Pick<DeliveryHead, "id" | "path" | "handler" | "failures" | "notBefore"> {
  /** The time that the event's id is made of, in milliseconds since 1970. */
  readonly at: number;
  readonly eventType: string;
}

export interface OpenFilter {
  /** Null for any. */
  readonly path: string | null;
  /** Ids of deliveries: only these, or all but these; null for all. */
  readonly among: readonly number[] | null;
  readonly except: readonly number[] | null;
}

/** A row of the table; `at` and `type` are those of the copy of its event, null while the log has the event. */
interface OpenRow extends Pick<DeliveryHead, "id" | "path" | "handler" | "failures" | "notBefore"> {
  readonly at: number | null;
  readonly type: string | null;
}

/**
 * The deliveries of a filter, newest first, with their number. The query runs on a thread where it must look at many rows.
 * @throws AppError `unavailable` when it takes too long, or too many queries wait.
 */
export async function openDeliveries(
  { database, events, countAll }: { database: Database; events: EventLog; countAll: () => Promise<number> },
  filter: OpenFilter,
  { limit, offset, waiter }: { limit: number; offset: number; waiter: Waiter },
): Promise<{ items: OpenDelivery[]; total: number }> {
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
  return database.query(async (reader) => {
    const total = isFiltered ? ((await reader.get<{ n: number }>(countSql, ...values))?.n ?? 0) : await countAll();
    const rows = await reader.all<OpenRow>(
      `SELECT ${deliveryTable.headColumns}, json_extract(r.event, '$.at') AS at, json_extract(r.event, '$.type') AS type
       FROM ${deliveryTable.source} WHERE ${where} ORDER BY r.id DESC LIMIT ? OFFSET ?`,
      ...values,
      limit,
      offset,
    );
    const logged = await events.headsAt(rows.map(eventSeqOf), reader);
    return { items: rows.flatMap((row) => toOpenDelivery(row, logged.get(eventSeqOf(row)))), total };
  }, waiter);
}

function toOpenDelivery(row: OpenRow, logged: EventStamp | undefined): OpenDelivery[] {
  const { id, path, handler, failures, notBefore } = row;
  const { at, type } = logged ?? row;
  return at === null || type === null ? [] : [{ id, path, handler, failures, notBefore, at, eventType: type }];
}
