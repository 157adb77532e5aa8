/** The search in the event log: by type, time, user or file. */
import type { SlowReader, Value } from "../../database/index.ts";
import { namesAudit } from "../audit-table.ts";
import { type EventRow, eventColumns, LoggedEvent } from "../event-table.ts";

export interface EventFilter {
  /** Types; a type that ends in `*` stands for all types with that beginning. Null for all types. */
  readonly types: readonly string[] | null;
  /** Milliseconds since 1970, both bounds included; null for no bound. */
  readonly from: number | null;
  readonly to: number | null;
  /** The id of the user behind the event. */
  readonly actor?: string | null;
  /** The id of the user whom the event concerns: sign-ins, and changes to the account by admins. Matches no record's event. */
  readonly about?: string | null;
  /** The `filePath` in the payload: the file of a function or job. */
  readonly filePath?: string | null;
}

interface SeqRange {
  readonly first: number;
  readonly last: number;
}

/** Null if the log is empty. */
export async function seqRange(reader: SlowReader): Promise<SeqRange | null> {
  const first = await reader.get<{ seq: number }>("SELECT seq FROM _events ORDER BY seq LIMIT 1");
  const last = await reader.get<{ seq: number }>("SELECT seq FROM _events ORDER BY seq DESC LIMIT 1");
  return first === null || last === null ? null : { first: first.seq, last: last.seq };
}

/** The first seq of an event at or after a time. Times rise with seqs, so a binary search needs no index. */
async function seqAt(reader: SlowReader, time: number, { first, last }: SeqRange): Promise<number> {
  let [low, high] = [first, last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await reader.get<{ at: number }>("SELECT at FROM _events WHERE seq >= ? ORDER BY seq LIMIT 1", middle);
    if (row === null || row.at >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The changes of records by a user since a time, before a seq. */
export interface ActorSearch {
  readonly actor: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly before: number;
  readonly limit: number;
}

/** Newest first. */
export async function changesBy(reader: SlowReader, search: ActorSearch): Promise<LoggedEvent[]> {
  const { actor, since, before, limit } = search;
  const range = (await seqRange(reader)) ?? { first: 0, last: -1 };
  const from = await seqAt(reader, since, range);
  const sql = `SELECT ${eventColumns} FROM _events
    WHERE seq >= ? AND seq < ? AND actor = ? AND source = 'collections' ORDER BY seq DESC LIMIT ?`;
  return (await reader.all<EventRow>(sql, from, before, actor, limit)).map((row) => new LoggedEvent(row));
}

/** The beginnings of types that are not about records. */
const otherPrefixes = ["auth.", "storage.", "function.", "job.", "admin."];

/** Forces the index of the events that are not about records, a small part of most logs: the planner would not choose this index. */
const others = "_events INDEXED BY _events_other";

function typeCondition(types: readonly string[]): { table: string; sql: string; values: Value[] } {
  const conditions = types.map((type) => (type.endsWith("*") ? "substr(type, 1, ?) = ?" : "type = ?"));
  const values = types.flatMap((type): Value[] => (type.endsWith("*") ? [type.length - 1, type.slice(0, -1)] : [type]));
  const hasRecords = !types.every((type) => otherPrefixes.some((prefix) => type.startsWith(prefix)));
  const any = `(${conditions.join(" OR ")})`;
  if (hasRecords) return { table: "_events", sql: any, values };
  return { table: others, sql: `source <> 'collections' AND ${any}`, values };
}

/** The matching events, newest first, and the total number. */
export async function searchEvents(
  reader: SlowReader,
  filter: EventFilter,
  page: { limit: number; offset: number },
): Promise<{ items: LoggedEvent[]; total: number }> {
  const range = (await seqRange(reader)) ?? { first: 0, last: -1 };
  const from = filter.from === null ? range.first : await seqAt(reader, filter.from, range);
  const until = filter.to === null ? range.last + 1 : await seqAt(reader, filter.to + 1, range);
  const type = filter.types === null ? { table: "_events", sql: "1", values: [] } : typeCondition(filter.types);
  const { actor = null, about = null, filePath = null } = filter;
  // The small part of the log that is not about records has a separate index.
  const table = about === null ? type.table : others;
  const conditions = [type.sql];
  const values: Value[] = [...type.values];
  const ask = (condition: string, value: string): void => {
    conditions.push(condition);
    values.push(value);
  };
  if (actor !== null) ask("actor = ?", actor);
  if (about !== null) {
    conditions.push("source <> 'collections'");
    ask("json_extract(payload, CASE source WHEN 'auth' THEN '$.userId' ELSE '$.target' END) = ?", about);
  }
  if (filePath !== null) ask("json_extract(payload, '$.filePath') = ?", filePath);
  const where = conditions.join(" AND ");
  const parts = [
    { own: "basis, cause", from: `${table} WHERE seq >= ? AND seq < ? AND ${where}`, values: [from, until, ...values] },
  ];
  // Entries of the audit are older than the log, and the times of the entries are no seqs of the log.
  if (filter.types === null || filter.types.some(namesAudit)) {
    const bounds = [filter.from ?? 0, filter.to ?? Number.MAX_SAFE_INTEGER];
    parts.push({
      own: "NULL AS basis, NULL AS cause",
      from: `_audit WHERE at BETWEEN ? AND ? AND ${where}`,
      values: [...bounds, ...values],
    });
  }
  const given = parts.flatMap((part) => part.values);
  const union = (columns: string): string =>
    parts.map(({ own, from }) => `SELECT ${columns}, ${own} FROM ${from}`).join(" UNION ALL ");
  const count = await reader.get<{ n: number }>(`SELECT sum(n) AS n FROM (${union("count(*) AS n")})`, ...given);
  const rows = await reader.all<EventRow>(
    `${union("seq, at, time, type, source, actor, owner, payload, partial")} ORDER BY seq DESC LIMIT ? OFFSET ?`,
    ...given,
    page.limit,
    page.offset,
  );
  return { items: rows.map((row) => new LoggedEvent(row)), total: count?.n ?? 0 };
}
