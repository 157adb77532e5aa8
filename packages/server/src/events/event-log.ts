/** Event log: appends events inside transactions, tells listeners after the flush, and reads events back. */
import type { EventSource, StoredRecord } from "@socle/protocol";
import type { Database, Reader, Transactor, Waiter } from "../database/index.ts";
import {
  type Awaitable,
  actorOf,
  type Clock,
  chainOf,
  depthOf,
  inTurn,
  JsonText,
  type Principal,
  toTimestamp,
} from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { parseEventId } from "./event-id.ts";
import {
  eventAt,
  eventsAfter,
  headsOf,
  insertEvent,
  lastGiven,
  lastTrimmed,
  oldestEvent,
  positionOf,
  stampsAt,
} from "./event-table.ts";
import { LogSize } from "./log-size.ts";
import { type EventBasis, type EventHead, LoggedEvent, type WrittenRow } from "./logged-event.ts";
import { type EventFilter, searchEvents, seqRange } from "./sql/search.ts";
import { TypeBlocks } from "./type-blocks.ts";

/** An event, as a module reports it. */
export interface NewEvent {
  type: string;
  source: EventSource;
  /** As it will be read: an object, or its JSON. It is serialised at once. */
  payload: object | JsonText;
  /** Of an update: the payload that the log keeps instead of a large one. Listeners get the whole payload. */
  changes?: () => object;
  /** The caller who caused it. */
  principal: Principal;
  /** The owner of the record it is about, by whom realtime and functions decide its audience. */
  owner?: string | null;
  /** The record as it was before it was changed or deleted. The log does not keep it. */
  previous?: StoredRecord;
  /** The part of it that the log keeps; see `EventBasis`. */
  basis?: EventBasis | null;
}

/** The next event waits for a promise that it answers. */
export type EventListener = (event: LoggedEvent) => unknown;

/** An event in the transaction of its change, with the parts that the log does not keep. */
export interface AppendedEvent {
  readonly event: LoggedEvent;
  readonly previous: StoredRecord | null;
  /** How many functions led to it. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to it. */
  readonly chain: readonly string[];
}

/**
 * Writes rows that belong to an event in the transaction of its change. An error of `record` rolls the change back. The
 * recorder is called only for the types that it wants.
 */
export interface EventRecorder {
  wants(type: string): boolean;
  record(tx: Transactor, appended: AppendedEvent): Awaitable<unknown>;
  /** Called in the transaction that removes the oldest events, from a seq to another: the last moment to copy one. */
  beforeTrim(tx: Transactor, first: number, last: number): Awaitable<unknown>;
}

/** With more events than these, looking through them would hold up the event loop. */
const manyEvents = 20_000;

interface EventPageQuery {
  readonly limit: number;
  readonly offset: number;
  readonly waiter: Waiter;
}

interface EventMatches {
  readonly items: LoggedEvent[];
  readonly total: number;
}

/** An event without its payload, owner and actor. */
export interface EventStamp {
  readonly type: string;
  /** The time that its id is made of, in milliseconds since 1970. */
  readonly at: number;
  /** The time at which it happened; other than `at` where the clock was set back before it. */
  readonly time: number;
}

/** A part of the log: the events of the wanted types, without their payloads, and how far was looked. */
export interface EventPage {
  readonly events: readonly EventHead[];
  /** The last seq that was looked at. */
  readonly end: number;
}

/** Characters of a payload from which on the log keeps the changes of an update instead of the record. */
const largePayload = 4_096;

/** The row as it is stored: with its payload, or with the changes where they are less than half of a large one. */
function keptOf({ changes }: NewEvent, row: WrittenRow): WrittenRow {
  if (changes === undefined || row.payload.length <= largePayload) return row;
  const { text } = JsonText.of(changes());
  return text.length < row.payload.length / 2 ? { ...row, payload: text, partial: 1 } : row;
}

/**
 * The log of everything that happened. An event is written in the transaction of its change, and told to listeners once
 * both are on disk, in commit order.
 */
export class EventLog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #listeners: readonly EventListener[] = [];
  /** Where which types of events are. */
  readonly types: TypeBlocks;
  /** How many bytes of events there are. */
  readonly size = new LogSize();
  #whenGrown: () => void = () => undefined;
  #recorder: EventRecorder | null = null;
  #lastSeq = 0;
  /** The greatest time of an event. */
  #lastAt = 0;
  #flushedSeq = 0;

  constructor(options: { database: Database; clock: Clock; logger: Logger }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.types = new TypeBlocks(() => options.database.reader);
  }

  /** Continues where the log stands. To be called once, before the first event. */
  async start(): Promise<void> {
    const { reader } = this.#database;
    const last = await lastGiven(reader);
    this.#lastSeq = last.seq;
    this.#flushedSeq = this.#lastSeq;
    this.#lastAt = last.at;
    this.#clock.atLeast(last.at);
    await this.size.start(reader);
  }

  /**
   * The seq of the newest event that a reader sees, also when it was trimmed. It is asked for before this returns.
   */
  async lastSeq(reader: Reader): Promise<number> {
    return (await lastGiven(reader)).seq;
  }

  /** The seq of the newest event that listeners were told of. Later ones may be in the table, and not on disk yet. */
  get flushedSeq(): number {
    return this.#flushedSeq;
  }

  /** Has `recorder` take part in the transactions of the events that it wants. There is one at most. */
  recordWith(recorder: EventRecorder): void {
    if (this.#recorder !== null) throw new Error("The event log has a recorder already");
    this.#recorder = recorder;
  }

  /** For the log's own retention: calls `grown` each time that the log has grown by some hundred kilobytes. */
  onGrowth(grown: () => void): void {
    this.#whenGrown = grown;
  }

  /** For the log's own retention: called before events are removed. */
  beforeTrim(tx: Transactor, first: number, last: number): Awaitable<unknown> {
    return this.#recorder?.beforeTrim(tx, first, last);
  }

  /** For the log's own retention: in its transaction, the events up to a seq are gone. */
  trimmed(tx: Transactor, seq: number): Awaitable<unknown> {
    tx.onCommit(() => this.types.trimmed(seq));
    return this.size.trimmed(tx, seq);
  }

  /** Writes an event in the transaction of its change. `now` is the time of the change. */
  append(tx: Transactor, event: NewEvent, now: number = this.#clock.now()): Awaitable<unknown> {
    // The position of a transaction that is rolled back stays empty; only the order counts.
    this.#lastSeq += 1;
    const seq = this.#lastSeq;
    this.#lastAt = Math.max(this.#lastAt, now);
    const at = this.#lastAt;
    const time = at === now ? null : now;
    const { type, source } = event;
    const actor = actorOf(event.principal);
    const owner = event.owner ?? null;
    const { text: payload } = event.payload instanceof JsonText ? event.payload : JsonText.of(event.payload);
    const recorder = this.#recorder?.wants(type) === true ? this.#recorder : null;
    const basis = event.basis === undefined || event.basis === null ? null : JSON.stringify(event.basis);
    const row: WrittenRow = { seq, at, time, type, source, actor, owner, payload, partial: 0, basis };
    const logged = recorder === null ? null : new LoggedEvent(row, event.previous);
    const kept = keptOf(event, row);
    const isMarkDue = this.size.add(tx, kept.payload, basis);
    tx.onDurable(() => {
      this.#flushedSeq = Math.max(this.#flushedSeq, seq);
      if (isMarkDue) this.#whenGrown();
      return this.#listeners.length > 0 ? this.#dispatch(logged ?? new LoggedEvent(row, event.previous)) : undefined;
    });
    const insert = (): Awaitable<unknown> => insertEvent(tx, kept);
    const written = isMarkDue ? inTurn([insert, () => this.size.mark(tx, seq)], (step) => step()) : insert();
    if (recorder === null || logged === null) return written;
    const appended = {
      event: logged,
      previous: event.previous ?? null,
      depth: depthOf(event.principal),
      chain: chainOf(event.principal),
    };
    return written instanceof Promise
      ? written.then(() => recorder.record(tx, appended))
      : recorder.record(tx, appended);
  }

  /** How large the log is: events, bytes, and the time of its oldest event (milliseconds since 1970). */
  async extent(): Promise<{ events: number; bytes: number; oldest: number | null }> {
    const { reader } = this.#database;
    const first = await oldestEvent(reader);
    const events = first === null ? 0 : this.#flushedSeq - first.seq + 1;
    return { events, bytes: await this.size.bytes(reader), oldest: first?.at ?? null };
  }

  /** Calls `listener` with every event from now on. Answers how to stop that. */
  listen(listener: EventListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener);
    };
  }

  /** At most `limit` events after `seq`, oldest first. */
  async read(seq: number, limit: number, reader: Reader = this.#database.reader): Promise<LoggedEvent[]> {
    const rows = await eventsAfter(reader, seq, limit);
    return rows.map((row) => new LoggedEvent(row));
  }

  /** Type and times of the events by seq; events that were trimmed are left out. */
  async headsAt(seqs: readonly number[], reader: Reader): Promise<Map<number, EventStamp>> {
    const rows = await stampsAt(reader, seqs);
    return new Map(rows.map((row) => [row.seq, row]));
  }

  /**
   * The events of some types after seq `after`, up to `until` at most. It looks at `width` seqs and no further, and
   * at no payload, so that a long log is read in short and light steps; seqs known to hold none of the types are
   * passed over. Null when events after `after` were trimmed.
   */
  async page(options: {
    after: number;
    until: number;
    width: number;
    types: readonly string[];
  }): Promise<EventPage | null> {
    const { after, until, width, types } = options;
    const start = await this.types.skip(after, until, types);
    const end = Math.min(until, start + width);
    const { reader } = this.#database;
    const rows = await headsOf(reader, types, { after: start, until: end });
    // Read after the rows, so that rows trimmed in between are found missing and not overlooked.
    const trimmed = await lastTrimmed(reader);
    if (trimmed !== null && trimmed.seq > after) return null;
    return { events: rows.map(({ at, ...row }) => ({ ...row, timestamp: toTimestamp(at) })), end };
  }

  /** The events of a filter, newest first, and how many there are in all. A long log is read on a thread. */
  async search(filter: EventFilter, page: EventPageQuery): Promise<EventMatches> {
    const { reader } = this.#database;
    const range = await seqRange(reader);
    const isLong = range !== null && range.last - range.first > manyEvents;
    if (!isLong) return searchEvents(reader, filter, page);
    return this.#database.readOnThread((thread) => searchEvents(thread, filter, page), page.waiter);
  }

  /** The event at a seq; null when it was trimmed. */
  async at(seq: number, reader: Reader = this.#database.reader): Promise<LoggedEvent | null> {
    const row = await eventAt(reader, seq);
    return row === null ? null : new LoggedEvent(row);
  }

  /** The position of an event, when the log knows it and still holds everything after it; else null. */
  async seqOf(id: string): Promise<number | null> {
    const position = parseEventId(id);
    if (position === null || position.seq > this.#flushedSeq) return null;
    const { reader } = this.#database;
    const found = await positionOf(reader, position.seq);
    // One of another time is of another log: a database that was restored from a backup, or is not the same.
    const known = found ?? (await lastTrimmed(reader));
    return known?.seq === position.seq && known.at === position.at ? position.seq : null;
  }

  #dispatch(event: LoggedEvent): Awaitable<unknown> {
    return inTurn(this.#listeners, (listener) => {
      try {
        const result = listener(event);
        return result instanceof Promise ? result.catch((error: unknown) => this.#failed(event, error)) : undefined;
      } catch (error) {
        return this.#failed(event, error);
      }
    });
  }

  #failed({ id, type }: LoggedEvent, error: unknown): void {
    this.#logger.error("A listener of the event log failed", { event: id, type, error });
  }
}
