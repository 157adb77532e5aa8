/**
 * The table of the audit: events about changes of admins and about failed sign-ins, after the event log has removed these
 * events. The audit has a retention of its own, so that the writes of users never remove an entry of the audit.
 */
import type { Reader, Transactor } from "../database/index.ts";

/** The sources with entries in the audit. The retention counts each source alone: failed sign-ins, which anybody can cause, remove no change of an admin. */
const sources = ["admin", "auth"] as const;

/** Beginnings of the types with entries in the audit. */
const auditTypes = ["admin.", "auth.failed", "auth.locked"] as const;

export const auditColumns = "seq, at, time, type, source, actor, owner, payload, partial";
/** SQL: whether an event of the log belongs to the audit. */
export const isAudit = "(source = 'admin' OR type IN ('auth.failed', 'auth.locked'))";
/** Rows that a transaction removes. */
const step = 500;

export const auditSteps: readonly string[] = [
  `CREATE TABLE _audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    time INTEGER,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    actor TEXT,
    owner TEXT,
    payload TEXT NOT NULL,
    partial INTEGER NOT NULL
  ) STRICT`,
  "CREATE INDEX _audit_source ON _audit (source, seq)",
];

/** Whether a type, or a beginning of types that ends in `*`, may name entries of the audit. */
export function namesAudit(type: string): boolean {
  const start = type.replace(/\*$/, "");
  return auditTypes.some((each) => each.startsWith(start) || start.startsWith(each));
}

export function hasAudit(reader: Reader): boolean {
  return reader.get("SELECT 1 FROM _audit LIMIT 1") !== null;
}

/** Copies the events of a range that belong to the audit. To be called before the log removes the range. */
export function keepAudit(tx: Transactor, first: number, last: number): void {
  tx.run(
    `INSERT INTO _audit (${auditColumns})
     SELECT ${auditColumns} FROM _events INDEXED BY _events_other
     WHERE seq BETWEEN ? AND ? AND source <> 'collections' AND ${isAudit}`,
    first,
    last,
  );
}

/** Whether the audit has entries beyond its bounds. @param horizon milliseconds since 1970: older entries go. */
export function isAuditFull(reader: Reader, horizon: number, maxCount: number): boolean {
  const oldest = reader.get<{ at: number }>("SELECT at FROM _audit ORDER BY seq LIMIT 1");
  if (oldest === null) return false;
  return oldest.at <= horizon || sources.some((source) => borderOf(reader, source, maxCount) !== null);
}

/** Removes entries beyond the bounds, the oldest first; several calls remove many entries. */
export function trimAudit(tx: Transactor, horizon: number, maxCount: number): void {
  tx.run("DELETE FROM _audit WHERE seq IN (SELECT seq FROM _audit ORDER BY seq LIMIT ?) AND at <= ?", step, horizon);
  for (const source of sources) {
    const border = borderOf(tx, source, maxCount);
    if (border === null) continue;
    const oldest = "SELECT seq FROM _audit WHERE source = ? AND seq <= ? ORDER BY seq LIMIT ?";
    tx.run(`DELETE FROM _audit WHERE seq IN (${oldest})`, source, border, step);
  }
}

/** The newest seq of a source that is beyond the count; null within the count. */
function borderOf(reader: Reader, source: (typeof sources)[number], maxCount: number): number | null {
  const row = reader.get<{ seq: number }>(
    "SELECT seq FROM _audit WHERE source = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
    source,
    maxCount,
  );
  return row?.seq ?? null;
}
