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

export class LogSize {
  #total = 0;
  #marked = 0;

  /** Continues where the log stands. */
  async start(reader: Reader): Promise<void> {
    const last = await reader.get<Mark>("SELECT seq, total FROM _event_sizes ORDER BY seq DESC LIMIT 1");
    const rest = await reader.get<{ bytes: number | null }>(
      `SELECT sum(octet_length(payload) + ${rowBytes}) AS bytes FROM _events WHERE seq > ?`,
      last?.seq ?? 0,
    );
    this.#marked = last?.total ?? 0;
    this.#total = this.#marked + (rest?.bytes ?? 0);
  }

  /** Counts an event's payload. Answers the total that is to be marked at its place, or null. */
  add(payload: string): number | null {
    this.#total += Buffer.byteLength(payload) + rowBytes;
    if (this.#total - this.#marked < markEvery) return null;
    this.#marked = this.#total;
    return this.#total;
  }

  mark(tx: Transactor, place: number, total: number): Awaitable<unknown> {
    return tx.run("INSERT INTO _event_sizes (seq, total) VALUES (?, ?)", place, total);
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
