/** The entries of the audit in pages: of the log, and of the table that keeps the entries after the log. */
import type { SlowReader } from "../../database/index.ts";
import { auditColumns, isAudit } from "../audit-table.ts";
import { type EventRow, LoggedEvent } from "../event-table.ts";

/** The entries of the audit, in the log and after the log, between two times (milliseconds since 1970, both included), behind a seq. */
export interface AuditRange {
  readonly after: number;
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

/** The oldest first. An entry that moves out of the log meanwhile keeps its seq, so no page lacks the entry. */
export async function auditAfter(reader: SlowReader, { after, from, to, limit }: AuditRange): Promise<LoggedEvent[]> {
  const rows = await reader.all<EventRow>(
    `SELECT ${auditColumns}, NULL AS basis, NULL AS cause FROM _audit WHERE seq > ?1 AND at BETWEEN ?2 AND ?3
     UNION ALL
     SELECT ${auditColumns}, NULL, NULL FROM _events INDEXED BY _events_other
     WHERE seq > ?1 AND source <> 'collections' AND ${isAudit} AND at BETWEEN ?2 AND ?3
     ORDER BY seq LIMIT ?4`,
    after,
    from,
    to,
    limit,
  );
  return rows.map((row) => new LoggedEvent(row));
}
