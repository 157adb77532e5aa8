/** The size of the event log: a running sum of bytes, with marks in the database from which the oldest events are counted. */
import type { Reader, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import {
  firstMark,
  insertMark,
  markAfter,
  markEvery,
  markFrom,
  measureSize,
  rowBytes,
  type Size,
  trimMarks,
} from "./sql/size-marks.ts";

const empty: Size = { total: 0, marked: 0 };

export class LogSize {
  /** Bytes that were ever written and committed, on the scale of the marks. */
  #total = 0;
  /** Of these, the bytes since the newest mark. */
  #sinceMark = 0;
  /** Bytes appended since the last commit, also by transactions that were taken back: they only tell when to look. */
  #pending = 0;

  /** The transaction that looked last, which may append much more, and the bytes since the newest mark that it sees. */
  #look: { readonly tx: Transactor; bytes: number } | null = null;

  /** Continues where the log stands. */
  async start(reader: Reader): Promise<void> {
    const { total, marked } = (await measureSize(reader)) ?? empty;
    this.#total = total;
    this.#sinceMark = total - marked;
  }

  /** Counts an event that a transaction appends. Answers whether `mark` is to be called once its row is written. */
  add(tx: Transactor, payload: string, basis: string | null): boolean {
    const bytes = Buffer.byteLength(payload) + (basis === null ? 0 : Buffer.byteLength(basis)) + rowBytes;
    this.#pending += bytes;
    tx.onCommit(() => {
      this.#total += bytes;
      this.#sinceMark += bytes;
      this.#pending = 0;
      this.#look = null;
    });
    if (this.#look?.tx !== tx) return this.#sinceMark + this.#pending >= markEvery;
    this.#look.bytes += bytes;
    return this.#look.bytes >= markEvery;
  }

  /**
   * Sets a mark at a seq that the transaction has just written, where one is due. The table decides that: it holds what
   * earlier transactions of the same commit have appended, and nothing that was taken back.
   */
  mark(tx: Transactor, seq: number): Awaitable<unknown> {
    const measured = measureSize(tx);
    return measured instanceof Promise
      ? measured.then((size) => this.#markAt(tx, seq, size))
      : this.#markAt(tx, seq, measured);
  }

  #markAt(tx: Transactor, seq: number, size: Size | null): Awaitable<unknown> {
    const { total, marked } = size ?? empty;
    const isDue = total - marked >= markEvery;
    this.#look = { tx, bytes: isDue ? 0 : total - marked };
    // The events before it have counted by then.
    tx.onCommit(() => {
      this.#total = total;
      this.#sinceMark = isDue ? 0 : total - marked;
    });
    return isDue ? insertMark(tx, { seq, total }) : undefined;
  }

  /** Bytes of the events that the log holds, about. */
  async bytes(reader: Reader): Promise<number> {
    const first = await firstMark(reader);
    return this.#total - (first?.total ?? 0);
  }

  /** The newest seq that must go, so that `maxBytes` at most stay; 0 when none must. */
  async seqBeyond(reader: Reader, maxBytes: number): Promise<number> {
    if (this.#total <= maxBytes) return 0;
    const mark = await markFrom(reader, this.#total - maxBytes);
    return mark?.seq ?? 0;
  }

  /** The seq up to which about `bytes` of the oldest events lie; null when there are fewer. */
  async seqAfter(reader: Reader, bytes: number): Promise<number | null> {
    const mark = await markAfter(reader, bytes);
    return mark?.seq ?? null;
  }

  /** The events up to a seq were removed: the newest mark before what is left becomes the first. */
  trimmed(tx: Transactor, seq: number): Awaitable<unknown> {
    return trimMarks(tx, seq);
  }
}
