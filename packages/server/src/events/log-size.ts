/** The size of the event log: a running sum of bytes, with marks in the database from which the oldest events are counted. */
import type { Reader, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";

/** Bytes between two marks. The log's size is known to this precision. */
const markEvery = 256 * 1024;

/** Bytes that a row takes beside its payload, about. */
const rowBytes = 100;

/**
 * A mark says how many bytes of events were written up to its place. The difference of two marks is the size of what
 * lies between them, so nothing is counted when events are trimmed. The first mark lies where the log begins.
 */
export const sizeMarkSchema = [
  "CREATE TABLE _event_sizes (seq INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT",
  "INSERT INTO _event_sizes (seq, total) VALUES (0, 0)",
  // A log that was written before there were marks.
  `INSERT INTO _event_sizes (seq, total)
   SELECT max(seq), max(total) FROM (
     SELECT seq, sum(octet_length(payload) + ${rowBytes}) OVER (ORDER BY seq) AS total FROM _events
   ) GROUP BY total / ${markEvery}`,
];

interface Mark {
  readonly seq: number;
  readonly total: number;
}

/** How far the log has grown. */
interface Size {
  /** Bytes of all events that were ever written. */
  readonly total: number;
  /** The total of the newest mark. */
  readonly marked: number;
}

const empty: Size = { total: 0, marked: 0 };

export class LogSize {
  /** Bytes that were ever written and committed, on the scale of the marks. */
  #total = 0;
  /** Of these, the bytes since the newest mark. */
  #sinceMark = 0;
  /** Bytes appended since the last commit, also by transactions that were taken back: they only tell when to look. */
  #pending = 0;

  /** Continues where the log stands. */
  async start(reader: Reader): Promise<void> {
    const { total, marked } = (await this.#measure(reader)) ?? empty;
    this.#total = total;
    this.#sinceMark = total - marked;
  }

  /** Counts a payload that a transaction appends. Answers whether `mark` is to be called once its row is written. */
  add(tx: Transactor, payload: string): boolean {
    const bytes = Buffer.byteLength(payload) + rowBytes;
    this.#pending += bytes;
    tx.onCommit(() => {
      this.#total += bytes;
      this.#sinceMark += bytes;
      this.#pending = 0;
    });
    return this.#sinceMark + this.#pending >= markEvery;
  }

  /**
   * Sets a mark at a place that the transaction has just written, where one is due. The table decides that: it holds what
   * earlier transactions of the same commit have appended, and nothing that was taken back.
   */
  mark(tx: Transactor, place: number): Awaitable<unknown> {
    const measured = this.#measure(tx);
    return measured instanceof Promise
      ? measured.then((size) => this.#markAt(tx, place, size))
      : this.#markAt(tx, place, measured);
  }

  #markAt(tx: Transactor, place: number, size: Size | null): Awaitable<unknown> {
    const { total, marked } = size ?? empty;
    const isDue = total - marked >= markEvery;
    // The events before it have counted by then.
    tx.onCommit(() => {
      this.#total = total;
      this.#sinceMark = isDue ? 0 : total - marked;
    });
    return isDue ? tx.run("INSERT INTO _event_sizes (seq, total) VALUES (?, ?)", place, total) : undefined;
  }

  /** The size up to the newest event that a reader sees. */
  #measure(reader: Reader): Awaitable<Size | null> {
    // One statement: a thread takes one at a time.
    return reader.get<Size>(
      `SELECT total AS marked, total + coalesce(
         (SELECT sum(octet_length(payload) + ${rowBytes}) FROM _events WHERE seq > mark.seq), 0) AS total
       FROM _event_sizes AS mark ORDER BY seq DESC LIMIT 1`,
    );
  }

  /** Bytes of the events that the log holds, about. */
  async bytes(reader: Reader): Promise<number> {
    const first = await reader.get<Mark>("SELECT seq, total FROM _event_sizes ORDER BY seq LIMIT 1");
    return this.#total - (first?.total ?? 0);
  }

  /** The newest place that must go, so that `maxBytes` at most stay; 0 when none must. */
  async placeBeyond(reader: Reader, maxBytes: number): Promise<number> {
    if (this.#total <= maxBytes) return 0;
    const mark = await reader.get<Mark>(
      "SELECT seq, total FROM _event_sizes WHERE total >= ? ORDER BY seq LIMIT 1",
      this.#total - maxBytes,
    );
    return mark?.seq ?? 0;
  }

  /** The place up to which about `bytes` of the oldest events lie; null when there are fewer. */
  async placeAfter(reader: Reader, bytes: number): Promise<number | null> {
    const mark = await reader.get<Mark>(
      `SELECT seq, total FROM _event_sizes
       WHERE total >= (SELECT total FROM _event_sizes ORDER BY seq LIMIT 1) + ? ORDER BY seq LIMIT 1`,
      bytes,
    );
    return mark?.seq ?? null;
  }

  /** The events up to a place were removed: the newest mark before what is left becomes the first. */
  trimmed(tx: Transactor, place: number): Awaitable<unknown> {
    return tx.run("DELETE FROM _event_sizes WHERE seq < (SELECT max(seq) FROM _event_sizes WHERE seq <= ?)", place);
  }
}
