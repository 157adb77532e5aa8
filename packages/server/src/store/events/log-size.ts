/** The size of the event log: a running sum of bytes, and marks in the database to subtract the trimmed events. */
import type { Reader, Transactor } from "../database/index.ts";
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
  /** Bytes ever written and committed, on the scale of the marks. */
  #total = 0;
  /** The part of `#total` after the newest mark. */
  #sinceMark = 0;
  /** Bytes appended since the last commit, including rolled-back transactions: an estimate of when to measure. */
  #pending = 0;

  /** The transaction that measured last, and the bytes since the newest mark in its view; the transaction may append more. */
  #look: { readonly tx: Transactor; bytes: number } | null = null;

  /** Reads the size of the stored log. */
  start(reader: Reader): void {
    const { total, marked } = measureSize(reader) ?? empty;
    this.#total = total;
    this.#sinceMark = total - marked;
  }

  /** Counts an event of a transaction. Answers whether the caller must call `mark` after the write of the row. */
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
   * Sets a mark at a seq that the transaction has just written, if a mark is due. The table decides: the table contains
   * the events of earlier transactions of the same commit, and no rolled-back events.
   */
  mark(tx: Transactor, seq: number): void {
    const { total, marked } = measureSize(tx) ?? empty;
    const isDue = total - marked >= markEvery;
    this.#look = { tx, bytes: isDue ? 0 : total - marked };
    // The earlier events of the commit are already counted.
    tx.onCommit(() => {
      this.#total = total;
      this.#sinceMark = isDue ? 0 : total - marked;
    });
    if (isDue) insertMark(tx, { seq, total });
  }

  /** The approximate bytes of the events in the log. */
  bytes(reader: Reader): number {
    const first = firstMark(reader);
    return this.#total - (first?.total ?? 0);
  }

  /** The newest seq to remove so that at most `maxBytes` stay; 0 if no event must go. */
  seqBeyond(reader: Reader, maxBytes: number): number {
    if (this.#total <= maxBytes) return 0;
    const mark = markFrom(reader, this.#total - maxBytes);
    return mark?.seq ?? 0;
  }

  /** The approximate seq at which `bytes` of the oldest events end; null if the log has fewer bytes. */
  seqAfter(reader: Reader, bytes: number): number | null {
    const mark = markAfter(reader, bytes);
    return mark?.seq ?? null;
  }

  /** Call `trimmed` after the removal of the events up to a seq: the newest mark before the rest becomes the first. */
  trimmed(tx: Transactor, seq: number): void {
    trimMarks(tx, seq);
  }
}
