/** The tables of failures: adds failures to groups, reads and changes groups, and keeps the retries of groups. */
import type { FailureKind, FailureStatus } from "@socle/protocol";
import type { Reader, Transactor } from "../database/index.ts";
import { causeOf, type Failure, type FailureCause, otherCause } from "./cause.ts";

/** Groups that are kept, and groups of a place with messages of their own: the oldest go first, resolved groups before others. */
const maxGroups = 500;
const maxOfPlace = 20;
/** Ids of runs and of records that a group has. */
const maxIds = 10;
/** Characters of the example. */
const maxExample = 2_000;

export interface FailureRow extends FailureCause {
  readonly example: string;
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** JSON of ids. */
  readonly runs: string;
  readonly records: string;
  readonly status: FailureStatus;
  readonly seenAgain: number;
}

/** A retry of a group. */
export interface RetryRow {
  /** The id of the group. */
  readonly id: string;
  readonly startedAt: number;
  /** References to the runs, of the form that the kind of work chooses. */
  readonly runs: string[];
  /** The number of runs that wait again, or were refused. */
  readonly next: number;
  /** Why a run was refused. */
  readonly error: string | null;
}

/** Chooses groups; null for any. */
export interface FailureFilter {
  readonly status: FailureStatus | null;
  readonly kind: FailureKind | null;
}

const columns = "id, kind, file, line, message, example, count, first, last, runs, records, status, seenAgain";

/** The group that a failure belongs to; the row is null for a new group. */
function groupOf(reader: Reader, failure: Failure): { cause: FailureCause; row: FailureRow | null } {
  const cause = causeOf(failure);
  const row = findGroup(reader, cause.id);
  if (row !== null) return { cause, row };
  const { kind, file, line } = cause;
  const sql = "SELECT count(*) AS n FROM _failure_groups WHERE kind = ? AND file IS ? AND line IS ?";
  if ((reader.get<{ n: number }>(sql, kind, file, line)?.n ?? 0) < maxOfPlace) return { cause, row };
  const other = otherCause(cause);
  return { cause: other, row: findGroup(reader, other.id) };
}

/** The id of the group that has a failure, or would have the failure. */
export function groupIdOf(reader: Reader, failure: Failure): string {
  return groupOf(reader, failure).cause.id;
}

/** Adds failures of one cause to their group. A group that was resolved is open again. @param failures the oldest first. */
export function addFailures(tx: Transactor, failures: readonly [Failure, ...Failure[]], times: number): void {
  const newest = failures.at(-1) ?? failures[0];
  const { cause, row } = groupOf(tx, newest);
  const { id, kind, file, line, message } = cause;
  if (row === null)
    tx.run(
      `INSERT INTO _failure_groups (${columns}) VALUES (?, ?, ?, ?, ?, '', 0, ?, ?, '[]', '[]', 'open', 0)`,
      id,
      kind,
      file,
      line,
      message,
      failures[0].at,
      newest.at,
    );
  const ids = (known: string | undefined, added: readonly (string | null)[]): string => {
    const given = added.filter((each) => each !== null).reverse();
    // The service has written the text.
    return JSON.stringify([...new Set([...given, ...(JSON.parse(known ?? "[]") as string[])])].slice(0, maxIds));
  };
  tx.run(
    `UPDATE _failure_groups SET count = count + ?, example = ?, first = min(first, ?), last = max(last, ?), runs = ?, records = ?,
       seenAgain = seenAgain OR status = 'resolved', status = iif(status = 'resolved', 'open', status) WHERE id = ?`,
    times,
    newest.error.slice(0, maxExample),
    failures[0].at,
    newest.at,
    ids(
      row?.runs,
      failures.map(({ run }) => run),
    ),
    ids(
      row?.records,
      failures.map(({ record }) => record),
    ),
    id,
  );
  if (row === null) trim(tx, id);
}

/** Removes groups beyond the bound. @param added the id of the newest group, which stays. */
function trim(tx: Transactor, added: string): void {
  const removed = tx.run(
    `DELETE FROM _failure_groups WHERE id IN (
       SELECT id FROM _failure_groups WHERE id != ?
       ORDER BY CASE status WHEN 'open' THEN 0 WHEN 'muted' THEN 1 ELSE 2 END, last DESC, id LIMIT -1 OFFSET ?)`,
    added,
    maxGroups - 1,
  );
  if (removed > 0) tx.run("DELETE FROM _failure_retries WHERE id NOT IN (SELECT id FROM _failure_groups)");
}

export function findGroup(reader: Reader, id: string): FailureRow | null {
  return reader.get<FailureRow>(`SELECT ${columns} FROM _failure_groups WHERE id = ?`, id);
}

/** Whether the failures of an earlier version are still to be grouped. */
export function isUngrouped(reader: Reader): boolean {
  return reader.get("SELECT 1 AS n FROM _failure_upgrade") !== null;
}

/** Groups the failures of an earlier version, the oldest first. */
export function groupOld(tx: Transactor, failures: readonly Failure[]): void {
  tx.run("DELETE FROM _failure_upgrade");
  for (const failure of failures) addFailures(tx, [failure], 1);
}

export function countOpen(reader: Reader): number {
  return reader.get<{ n: number }>("SELECT count(*) AS n FROM _failure_groups WHERE status = 'open'")?.n ?? 0;
}

/** Groups with the newest failure first. @param after the last group of the page before; null for the first page. */
export function listGroups(
  reader: Reader,
  { status, kind }: FailureFilter,
  { limit, after }: { limit: number; after: Pick<FailureRow, "last" | "id"> | null },
): FailureRow[] {
  return reader.all<FailureRow>(
    `SELECT ${columns} FROM _failure_groups
     WHERE (last, id) < (?, ?) AND status = coalesce(?, status) AND kind = coalesce(?, kind) ORDER BY last DESC, id DESC LIMIT ?`,
    after?.last ?? Number.MAX_SAFE_INTEGER,
    after?.id ?? "",
    status,
    kind,
    limit,
  );
}

export function setStatus(tx: Transactor, id: string, status: FailureStatus): void {
  tx.run("UPDATE _failure_groups SET status = ?, seenAgain = 0 WHERE id = ?", status, id);
}

export function findRetry(reader: Reader, id: string): RetryRow | null {
  const sql = "SELECT * FROM _failure_retries WHERE id = ?";
  const row = reader.get<Omit<RetryRow, "runs"> & { runs: string }>(sql, id);
  // The service has written the text.
  return row && { ...row, runs: JSON.parse(row.runs) as string[] };
}

/** Writes a retry in the place of the last retry of the group. */
export function putRetry(tx: Transactor, { id, startedAt, runs, next, error }: RetryRow): void {
  tx.run(
    "INSERT OR REPLACE INTO _failure_retries (id, startedAt, runs, next, error) VALUES (?, ?, ?, ?, ?)",
    id,
    startedAt,
    JSON.stringify(runs),
    next,
    error,
  );
}

/** The groups whose retry has runs that do not wait again. A damaged row is left out: `socle verify` tells of the damage. */
export function openRetries(reader: Reader): string[] {
  const sql = `SELECT id FROM _failure_retries
    WHERE next < CASE WHEN json_valid(runs) THEN json_array_length(runs) ELSE 0 END ORDER BY startedAt, id`;
  return reader.all<{ id: string }>(sql).map(({ id }) => id);
}
