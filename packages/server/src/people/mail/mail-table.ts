/** The table of the outbox: adds mails, finds the mails that are due, and writes the outcome of attempts. */
import type { MailStatus } from "@socle/protocol";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { traceIn } from "../../store/events/index.ts";
import type { Failure } from "../../store/failures/index.ts";
import type { MailKind } from "./texts.ts";

/** The order of mails that are due: codes, other mails of accounts, mails of the user's code. */
export const ranks = { urgent: 0, account: 1, code: 2 } as const;

/** The part of a mail that the lists of admins show. */
export interface MailHead {
  readonly seq: number;
  readonly id: string;
  /** `custom` for a mail of the user's code. */
  readonly kind: MailKind | "custom";
  readonly recipient: string;
  readonly subject: string;
  /** JSON of the links and codes in the texts, by name. */
  readonly secrets: string;
  readonly rank: number;
  readonly status: MailStatus;
  readonly createdAt: number;
  /** The begin of the attempts. */
  readonly since: number;
  readonly notBefore: number;
  readonly attempts: number;
  readonly endedAt: number | null;
  readonly error: string | null;
  /** As `causeText`; null for a mail of the service, and for mails of versions without causes. */
  readonly cause: string | null;
}

export interface MailRow extends MailHead {
  readonly messageId: string;
  readonly text: string;
  readonly html: string | null;
}

/** A mail that was sent, or has failed for good. */
export interface EndedMail extends Pick<MailHead, "id" | "kind" | "cause" | "createdAt"> {
  readonly endedAt: number;
  readonly hasFailed: boolean;
}

/** A mail that no attempt was made for. */
export type FreshMail = Omit<MailRow, "seq" | "since" | "notBefore" | "attempts" | "error">;

const headColumns =
  "seq, id, kind, recipient, subject, secrets, rank, status, createdAt, since, notBefore, attempts, endedAt, error, cause";
const columns = `${headColumns}, messageId, text, html`;

export function insertMail(tx: Transactor, mail: FreshMail): void {
  tx.run(
    `INSERT INTO _mails (id, messageId, kind, recipient, subject, text, html, secrets, rank, status, createdAt, since, notBefore, endedAt, cause, trace)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    mail.id,
    mail.messageId,
    mail.kind,
    mail.recipient,
    mail.subject,
    mail.text,
    mail.html,
    mail.secrets,
    mail.rank,
    mail.status,
    mail.createdAt,
    mail.createdAt,
    mail.createdAt,
    mail.endedAt,
    mail.cause,
    mail.cause && traceIn(mail.cause),
  );
}

/** The number of waiting mails from a rank on, up to a bound. */
export function countWaiting(reader: Reader, fromRank: number, bound: number): number {
  const sql = "SELECT count(*) AS n FROM (SELECT 1 FROM _mails WHERE status = 'waiting' AND rank >= ? LIMIT ?)";
  return reader.get<{ n: number }>(sql, fromRank, bound)?.n ?? 0;
}

export function findMail(reader: Reader, id: string): MailRow | null {
  return reader.get<MailRow>(`SELECT ${columns} FROM _mails WHERE id = ?`, id);
}

/** The mails of a trace, oldest first. @param trace the id of the first cause. */
export function mailsOfTrace(reader: Reader, trace: string, limit: number): MailHead[] {
  return reader.all<MailHead>(`SELECT ${headColumns} FROM _mails WHERE trace = ? ORDER BY seq LIMIT ?`, trace, limit);
}

/** Chooses mails of the outbox; null for any. */
export interface MailFilter {
  readonly status: MailStatus | null;
  /** The stored form of the recipient's address. */
  readonly to: string | null;
  /** A part of the recipient's address. */
  readonly search: string | null;
}

/** The mails of a filter, newest first. */
export function listMails(
  reader: Reader,
  { status, to, search }: MailFilter,
  { limit, offset }: { limit: number; offset: number },
): { items: MailHead[]; total: number } {
  const conditions: [sql: string, value: string][] = [];
  if (status !== null) conditions.push(["status = ?", status]);
  if (to !== null) conditions.push(["recipient = ?", to]);
  if (search !== null) conditions.push(["instr(recipient, ?) > 0", search.toLowerCase()]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
  const values = conditions.map(([, value]) => value);
  const total = reader.get<{ n: number }>(`SELECT count(*) AS n FROM _mails ${where}`, ...values)?.n ?? 0;
  const sql = `SELECT ${headColumns} FROM _mails ${where} ORDER BY seq DESC LIMIT ? OFFSET ?`;
  return { items: reader.all<MailHead>(sql, ...values, limit, offset), total };
}

/** The failures of the mails that have failed for good, oldest first. */
export function failedMails(reader: Reader): Failure[] {
  const sql = `SELECT id AS run, coalesce(error, '') AS error, coalesce(endedAt, 0) AS at
    FROM _mails WHERE status = 'failed' ORDER BY endedAt, seq`;
  return reader.all<Pick<Failure, "run" | "error" | "at">>(sql).map(failureOf);
}

/** The failure of a mail, for the groups of failures. */
export function failureOf(mail: Pick<Failure, "run" | "error" | "at">): Failure {
  return { ...mail, kind: "mail", path: null, record: null };
}

/** How many of some mails wait, and how many have failed for good. */
export function mailStates(reader: Reader, ids: readonly string[]): { open: number; failed: number } {
  const sql = `SELECT count(*) FILTER (WHERE status = 'waiting') AS open, count(*) FILTER (WHERE status = 'failed') AS failed
    FROM _mails WHERE id IN (SELECT value FROM json_each(?))`;
  return reader.get<{ open: number; failed: number }>(sql, JSON.stringify(ids)) ?? { open: 0, failed: 0 };
}

/** When the oldest mail that waits was written, in milliseconds since 1970; null without a mail that waits. */
export function oldestWaiting(reader: Reader): number | null {
  const sql = "SELECT min(createdAt) AS at FROM _mails WHERE status = 'waiting'";
  return reader.get<{ at: number | null }>(sql)?.at ?? null;
}

/** All mails with the texts, oldest first. */
export function allMails(reader: Reader): MailRow[] {
  return reader.all<MailRow>(`SELECT ${columns} FROM _mails ORDER BY seq`);
}

/** The place of the newest mail; 0 without a mail. */
export function lastSeq(reader: Reader): number {
  return reader.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM _mails")?.seq ?? 0;
}

/** The mails after a place, oldest first. */
export function mailsAfter(reader: Reader, seq: number): MailRow[] {
  return reader.all<MailRow>(`SELECT ${columns} FROM _mails WHERE seq > ? ORDER BY seq`, seq);
}

/** Chooses a mail that is due. */
interface DueQuery {
  readonly rank: number;
  readonly now: number;
  /** Recipients whose mails wait. */
  readonly busy: readonly string[];
  /** Whether mails with a failed attempt wait. */
  readonly isFreshOnly: boolean;
}

/** The mail of a rank that has been due for the longest time. */
export function dueMail(reader: Reader, { rank, now, busy, isFreshOnly }: DueQuery): MailRow | null {
  return reader.get<MailRow>(
    `SELECT ${columns} FROM _mails
     WHERE status = 'waiting' AND rank = ? AND notBefore <= ? AND attempts <= ? AND recipient NOT IN (SELECT value FROM json_each(?))
     ORDER BY notBefore, seq LIMIT 1`,
    rank,
    now,
    isFreshOnly ? 0 : Number.MAX_SAFE_INTEGER,
    JSON.stringify(busy),
  );
}

/** The time at which the next later mail is due; null when no mail waits for a time. */
export function nextDue(reader: Reader, now: number): number | null {
  const times = Object.values(ranks).map((rank) => {
    const sql = "SELECT min(notBefore) AS at FROM _mails WHERE status = 'waiting' AND rank = ? AND notBefore > ?";
    return reader.get<{ at: number | null }>(sql, rank, now)?.at ?? Number.POSITIVE_INFINITY;
  });
  const next = Math.min(...times);
  return Number.isFinite(next) ? next : null;
}

/** A mail was sent. The texts lose their links and codes. */
export function markSent(
  tx: Transactor,
  seq: number,
  { subject, text, html, at }: Pick<MailRow, "subject" | "text" | "html"> & { readonly at: number },
): void {
  tx.run(
    `UPDATE _mails SET status = 'sent', attempts = attempts + 1, endedAt = ?, error = NULL, secrets = '{}', subject = ?, text = ?, html = ?
     WHERE seq = ?`,
    at,
    subject,
    text,
    html,
    seq,
  );
}

/** An attempt has failed. @param notBefore the time of the next attempt; null without a next attempt. */
export function markFailed(
  tx: Transactor,
  seq: number,
  { error, at, notBefore }: { error: string; at: number; notBefore: number | null },
): void {
  tx.run(
    "UPDATE _mails SET attempts = attempts + 1, error = ?, status = ?, endedAt = ?, notBefore = ? WHERE seq = ?",
    error,
    notBefore === null ? "failed" : "waiting",
    notBefore === null ? at : null,
    notBefore ?? at,
    seq,
  );
}

/** Makes a mail wait again, with all the attempts. */
export function reopenMail(tx: Transactor, seq: number, at: number): void {
  tx.run(
    "UPDATE _mails SET status = 'waiting', since = ?, notBefore = ?, attempts = 0, endedAt = NULL, error = NULL WHERE seq = ?",
    at,
    at,
    seq,
  );
}

/** Gives another due time to mails whose time was set by a later clock. */
export function bringForward(tx: Transactor, now: number, longestPause: number): void {
  const sql = "UPDATE _mails SET notBefore = ?, since = min(since, ?) WHERE status = 'waiting' AND notBefore > ?";
  tx.run(sql, now, now, now + longestPause);
}

/** Ends the attempts of mails that have waited since a time. Answers the number of mails. */
export function failOld(tx: Transactor, { since, at, error }: { since: number; at: number; error: string }): number {
  return tx.run(
    "UPDATE _mails SET status = 'failed', endedAt = ?, error = ? WHERE status = 'waiting' AND since < ?",
    at,
    error,
    since,
  );
}

/** Deletes some mails that ended before a time, or are not among the newest. Answers the number of mails. */
export function deleteEnded(
  tx: Transactor,
  { before, keep, most }: { before: number; keep: number; most: number },
): number {
  return tx.run(
    `DELETE FROM _mails WHERE seq IN (
       SELECT seq FROM (SELECT seq, endedAt, row_number() OVER (ORDER BY endedAt DESC, seq DESC) AS place FROM _mails WHERE status != 'waiting')
       WHERE endedAt < ? OR place > ? LIMIT ?)`,
    before,
    keep,
    most,
  );
}
