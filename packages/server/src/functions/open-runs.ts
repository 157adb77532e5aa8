/** The deliveries that are not over, for the list of runs. */
import type { Database, Waiter } from "../database/index.ts";
import type { EventLog, EventStamp } from "../events/index.ts";
import { eventSeqOf } from "./delivery-id.ts";
import { type DeliveryHead, type OpenFilter, type OpenRow, searchOpen } from "./delivery-table.ts";

/** A delivery that is not over. */
export interface OpenDelivery extends Pick<DeliveryHead, "id" | "path" | "handler" | "failures" | "notBefore"> {
  /** The time that the event's id is made of, in milliseconds since 1970. */
  readonly at: number;
  readonly eventType: string;
}

/**
 * The deliveries of a filter, newest first, with their number. The query runs on a thread where it must look at many rows.
 * @throws AppError `unavailable` when it takes too long, or too many queries wait.
 */
export async function openDeliveries(
  { database, events, countAll }: { database: Database; events: EventLog; countAll: () => Promise<number> },
  filter: OpenFilter,
  { waiter, ...page }: { limit: number; offset: number; waiter: Waiter },
): Promise<{ items: OpenDelivery[]; total: number }> {
  return database.query(async (reader) => {
    const { rows, total } = await searchOpen(reader, filter, { ...page, countAll });
    const logged = await events.headsAt(rows.map(eventSeqOf), reader);
    return { items: rows.flatMap((row) => toOpenDelivery(row, logged.get(eventSeqOf(row)))), total };
  }, waiter);
}

function toOpenDelivery(row: OpenRow, logged: EventStamp | undefined): OpenDelivery[] {
  const { id, path, handler, failures, notBefore } = row;
  const { at, type } = logged ?? row;
  return at === null || type === null ? [] : [{ id, path, handler, failures, notBefore, at, eventType: type }];
}
