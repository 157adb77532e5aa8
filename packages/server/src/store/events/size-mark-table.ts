/**
 * The table of the size marks of the event log. A size mark stores the bytes of all events written up to its seq. The difference of
 * two marks is the size of the events between the marks, so trimming events needs no count. The first mark lies at the beginning of
 * the log.
 */
import type { Reader, Transactor } from "../database/index.ts";

/** Bytes between two marks: the precision of the log's size. */
export const markEvery = 256 * 1024;

/** The approximate bytes of a row without the payload, the basis and the cause. */
export const rowBytes = 100;

export const sizeSteps: readonly string[] = [
  "CREATE TABLE _event_sizes (seq INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT",
  "INSERT INTO _event_sizes (seq, total) VALUES (0, 0)",
  // For a log written by a version without size marks.
  `INSERT INTO _event_sizes (seq, total)
   SELECT max(seq), max(total) FROM (
     SELECT seq, sum(octet_length(payload) + ${rowBytes}) OVER (ORDER BY seq) AS total FROM _events
   ) GROUP BY total / ${markEvery}`,
];

/** Bytes of all events up to a seq. */
interface SizeMark {
  readonly seq: number;
  readonly total: number;
}

/** Bytes of all events ever written, up to the newest event that a reader sees, and the total of the newest mark. */
export function measureSize(reader: Reader): { total: number; marked: number } {
  const size = reader.get<{ total: number; marked: number }>(
    `SELECT total AS marked, total + coalesce(
       (SELECT sum(octet_length(payload || coalesce(basis, '') || coalesce(cause, '')) + ${rowBytes}) FROM _events
        WHERE seq > mark.seq), 0) AS total
     FROM _event_sizes AS mark ORDER BY seq DESC LIMIT 1`,
  );
  return size ?? { total: 0, marked: 0 };
}

export function insertMark(tx: Transactor, { seq, total }: SizeMark): void {
  tx.run("INSERT INTO _event_sizes (seq, total) VALUES (?, ?)", seq, total);
}

export function firstMark(reader: Reader): SizeMark | null {
  return reader.get<SizeMark>("SELECT seq, total FROM _event_sizes ORDER BY seq LIMIT 1");
}

/** The first mark with a total of at least `total`. */
export function markFrom(reader: Reader, total: number): SizeMark | null {
  return reader.get<SizeMark>("SELECT seq, total FROM _event_sizes WHERE total >= ? ORDER BY seq LIMIT 1", total);
}

/** The newest mark up to a trimmed seq stays: the size of the log counts from this mark. */
export function trimMarks(tx: Transactor, trim: number): void {
  tx.run("DELETE FROM _event_sizes WHERE seq < (SELECT max(seq) FROM _event_sizes WHERE seq <= ?)", trim);
}
