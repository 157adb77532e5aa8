/**
 * Size marks: a mark stores the bytes of all events written up to its seq. The difference of two marks is the size of
 * the events between the marks, so trimming events needs no count. The first mark lies at the beginning of the log.
 */
import type { Reader, Transactor } from "../../database/index.ts";

/** Bytes between two marks: the precision of the log's size. */
export const markEvery = 256 * 1024;

/** The approximate bytes of a row without its payload and basis. */
export const rowBytes = 100;

export const sizeMarkSchema = [
  "CREATE TABLE _event_sizes (seq INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT",
  "INSERT INTO _event_sizes (seq, total) VALUES (0, 0)",
  // For a log written by a version without marks.
  `INSERT INTO _event_sizes (seq, total)
   SELECT max(seq), max(total) FROM (
     SELECT seq, sum(octet_length(payload) + ${rowBytes}) OVER (ORDER BY seq) AS total FROM _events
   ) GROUP BY total / ${markEvery}`,
];

interface Mark {
  readonly seq: number;
  readonly total: number;
}

/** Bytes of all events ever written, up to the newest event that a reader sees, and the total of the newest mark. */
export function measureSize(reader: Reader): { total: number; marked: number } {
  const size = reader.get<{ total: number; marked: number }>(
    `SELECT total AS marked, total + coalesce(
       (SELECT sum(octet_length(payload) + coalesce(octet_length(basis), 0) + ${rowBytes}) FROM _events
        WHERE seq > mark.seq), 0) AS total
     FROM _event_sizes AS mark ORDER BY seq DESC LIMIT 1`,
  );
  return size ?? { total: 0, marked: 0 };
}

export function insertMark(tx: Transactor, { seq, total }: Mark): void {
  tx.run("INSERT INTO _event_sizes (seq, total) VALUES (?, ?)", seq, total);
}

export function firstMark(reader: Reader): Mark | null {
  return reader.get<Mark>("SELECT seq, total FROM _event_sizes ORDER BY seq LIMIT 1");
}

/** The first mark whose total is at least `total`. */
export function markFrom(reader: Reader, total: number): Mark | null {
  return reader.get<Mark>("SELECT seq, total FROM _event_sizes WHERE total >= ? ORDER BY seq LIMIT 1", total);
}

/** The mark at which `bytes` of the oldest events end; null if the log has fewer bytes. */
export function markAfter(reader: Reader, bytes: number): Mark | null {
  return reader.get<Mark>(
    `SELECT seq, total FROM _event_sizes
     WHERE total >= (SELECT total FROM _event_sizes ORDER BY seq LIMIT 1) + ? ORDER BY seq LIMIT 1`,
    bytes,
  );
}

/** Deletes the marks before a seq, except the newest of these marks. */
export function trimMarks(tx: Transactor, seq: number): void {
  tx.run("DELETE FROM _event_sizes WHERE seq < (SELECT max(seq) FROM _event_sizes WHERE seq <= ?)", seq);
}
