/** The runs that are not over, as they are listed: from the table of deliveries. */
import { type Database, stopProbe, type Value, type Waiter } from "../database/index.ts";
import { type DeliveryHead, joined, maxPerEvent } from "./deliveries.ts";

/** A delivery that is not over. */
export interface OpenDelivery extends Pick<DeliveryHead, "id" | "path" | "handler" | "failures" | "notBefore"> {
  /** When the event happened, in milliseconds since 1970. */
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

/**
 * The deliveries of a filter, newest first, with the event that each is for, and how many there are: on a thread where
 * many must be looked at.
 * @throws AppError `unavailable` when it takes too long, or too many queries wait.
 */
export async function openDeliveries(
  { database, countAll }: { database: Database; countAll: () => Promise<number> },
  filter: OpenFilter,
  { limit, offset, waiter }: { limit: number; offset: number; waiter: Waiter },
): Promise<{ items: OpenDelivery[]; total: number }> {
  const conditions = ["d.failedAt IS NULL"];
  const values: Value[] = [];
  const ask = (condition: string, value: string): void => {
    conditions.push(condition);
    values.push(value);
  };
  if (filter.path !== null) ask("h.path = ?", filter.path);
  if (filter.among !== null) ask("d.id IN (SELECT value FROM json_each(?))", JSON.stringify(filter.among));
  if (filter.except !== null) ask("d.id NOT IN (SELECT value FROM json_each(?))", JSON.stringify(filter.except));
  const isFiltered = values.length > 0;
  const where = [...(isFiltered ? [stopProbe("d")] : []), ...conditions].join(" AND ");
  const countSql = `SELECT count(*) AS n FROM ${joined} WHERE ${where}`;
  return database.query(async (reader) => {
    const total = isFiltered ? ((await reader.get<{ n: number }>(countSql, ...values))?.n ?? 0) : await countAll();
    const items = await reader.all<OpenDelivery>(
      `SELECT d.id, h.path, h.handler, d.failures, d.notBefore, coalesce(e.at, json_extract(d.event, '$.at')) AS at,
           coalesce(e.type, json_extract(d.event, '$.type')) AS eventType
         FROM ${joined} LEFT JOIN _events AS e ON e.seq = d.id / ${maxPerEvent}
         WHERE ${where} ORDER BY d.id DESC LIMIT ? OFFSET ?`,
      ...values,
      limit,
      offset,
    );
    return { items, total };
  }, waiter);
}
