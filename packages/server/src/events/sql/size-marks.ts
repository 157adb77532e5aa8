/**
 * Size marks: a mark says how many bytes of events were written up to its seq. The difference of two marks is the
 * size of the events between them, so nothing is counted when events are trimmed. The first mark lies where the log
 * begins.
 */
import type { Reader, Transactor } from "../../database/index.ts";
import type { Awaitable } from "../../kernel/index.ts";

/** Bytes between two marks. The log's size is known to this precision. */
export const markEvery = 256 * 1024;

/** Bytes that a row takes beside its payload and its basis, about. */
export const rowBytes = 100;

export const sizeMarkSchema = [
  "CREATE TABLE _event_sizes (seq INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT",
  "INSERT INTO _event_sizes (seq, total) VALUES (0, 0)",
  // A log that was written before there were marks.
  `INSERT INTO _event_sizes (seq, total)
   SELECT max(seq), max(total) FROM (
     SELECT seq, sum(octet_length(payload) + ${rowBytes}) OVER (ORDER BY seq) AS total FROM _events
   ) GROUP BY total / ${markEvery}`,
];

export interface Mark {
  readonly seq: number;
  readonly total: number;
}

/** How far the log has grown. */
export interface Size {
  /** Bytes of all events that were ever written. */
  readonly total: number;
  /** The total of the newest mark. */
  readonly marked: number;
}

/** The size up to the newest event that a reader sees. */
export function measureSize(reader: Reader): Awaitable<Size | null> {
  // One statement: a thread takes one at a time.
  return reader.get<Size>(
    `SELECT total AS marked, total + coalesce(
       (SELECT sum(octet_length(payload) + coalesce(octet_length(basis), 0) + ${rowBytes}) FROM _events
        WHERE seq > mark.seq), 0) AS total
     FROM _event_sizes AS mark ORDER BY seq DESC LIMIT 1`,
  );
}

export function insertMark(tx: Transactor, { seq, total }: Mark): Awaitable<unknown> {
  return tx.run("INSERT INTO _event_sizes (seq, total) VALUES (?, ?)", seq, total);
}

export function firstMark(reader: Reader): Awaitable<Mark | null> {
  return reader.get<Mark>("SELECT seq, total FROM _event_sizes ORDER BY seq LIMIT 1");
}

/** The first mark whose total is not less than another. */
export function markFrom(reader: Reader, total: number): Awaitable<Mark | null> {
  return reader.get<Mark>("SELECT seq, total FROM _event_sizes WHERE total >= ? ORDER BY seq LIMIT 1", total);
}

/** The mark at which so many bytes of the oldest events end; null when there are fewer. */
export function markAfter(reader: Reader, bytes: number): Awaitable<Mark | null> {
  return reader.get<Mark>(
    `SELECT seq, total FROM _event_sizes
     WHERE total >= (SELECT total FROM _event_sizes ORDER BY seq LIMIT 1) + ? ORDER BY seq LIMIT 1`,
    bytes,
  );
}

/** Deletes marks before a seq, but for the newest of them. */
export function trimMarks(tx: Transactor, seq: number): Awaitable<unknown> {
  return tx.run("DELETE FROM _event_sizes WHERE seq < (SELECT max(seq) FROM _event_sizes WHERE seq <= ?)", seq);
}
