/** Event log: appends events inside transactions, tells listeners after the flush, and reads events back. */
import type { EventSource, StoredRecord } from "@socle/protocol";
import {
  actorOf,
  BoundedMap,
  type Clock,
  causeOf,
  chainOf,
  depthOf,
  JsonText,
  type Principal,
  toTimestamp,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { asSlowReader, type Database, noteKind, type Reader, type Transactor, type Waiter } from "../database/index.ts";
import { hasAudit } from "./audit-table.ts";
import { causeText, idsOf } from "./cause-text.ts";
import { EventIndexer } from "./event-index.ts";
import {
  type EventBasis,
  type EventHead,
  eraseEvents,
  eventAt,
  eventsAfter,
  eventsOf,
  headsOf,
  insertEvent,
  LoggedEvent,
  lastGiven,
  lastTrimmed,
  oldestEvent,
  parseEventId,
  positionOf,
  trimEvents,
  type WrittenRow,
} from "./event-table.ts";
import { eventsByKey, eventsOfTrace, manyEvents, type TraceBounds } from "./events-by-key.ts";
import { type KeySearch, seqsOf } from "./index-table.ts";
import { RequestLog } from "./request-log.ts";
import { firstMark, insertMark, markEvery, markFrom, measureSize, rowBytes } from "./size-mark-table.ts";
import { type AuditRange, auditAfter } from "./sql/audit.ts";
import { type ActorSearch, changesBy, type EventFilter, searchEvents, seqRange } from "./sql/search.ts";
import { TypeBlocks } from "./type-blocks.ts";

/** An event, as a module reports the event. */
export interface NewEvent {
  type: string;
  source: EventSource;
  /** The payload for readers: an object, or JSON of an object. The log serialises the payload at once. */
  payload: object | JsonText;
  /** For an update: the payload that the log keeps instead of a large payload. Listeners get the whole payload. */
  changes?: () => object;
  /** The caller behind the event. */
  principal: Principal;
  /** The owner of the event's record; realtime and functions use the owner to decide the audience. */
  owner?: string | null;
  /** The record before the change or deletion. The log does not keep this record. */
  previous?: StoredRecord;
  /** The part of the previous record that the log keeps; see `EventBasis`. */
  basis?: EventBasis | null;
}

/** If a listener answers a promise, the next event waits for that promise. */
export type EventListener = (event: LoggedEvent) => unknown;

/** An event in the transaction of its change, with parts that the log does not keep. */
export interface AppendedEvent {
  readonly event: LoggedEvent;
  readonly previous: StoredRecord | null;
  /** The number of functions that led to the event. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to the event. */
  readonly chain: readonly string[];
}

/**
 * Writes rows that belong to an event, in the transaction of the event's change. An error of `record` rolls the change
 * back. The log calls the recorder only for wanted types.
 */
export interface EventRecorder {
  /** The types that the recorder wants. */
  readonly wanted: Pick<ReadonlySet<string>, "has">;
  record(tx: Transactor, appended: AppendedEvent): void;
  /** Called in the transaction that removes the oldest events, from seq `first` to seq `last`: the last chance to copy an event. */
  beforeTrim(tx: Transactor, first: number, last: number): void;
}

/** A part of the log: the events of the wanted types, without payloads, and the end of the part. */
export interface EventPage {
  readonly events: readonly EventHead[];
  /** The last seq of the part. */
  readonly end: number;
}

/** The end of the log, as of a transaction. */
interface LogEnd {
  /** The newest event. */
  readonly seq: number;
  /** The greatest time of any event so far. */
  readonly at: number;
  /** Bytes of all events ever written, without rolled-back events. */
  readonly total: number;
  /** The total of the newest size mark. */
  readonly marked: number;
}

const appended = noteKind<LogEnd>("events.appended", (_earlier, later) => later);
/** The parts of an event that the table does not have, for the instances of a cluster that tell the event from the table. */
interface LiveParts {
  readonly seq: number;
  readonly previous: StoredRecord | null;
  /** Null if the table has the whole payload. */
  readonly payload: string | null;
}
const liveParts = noteKind<LiveParts>("events.liveParts");
const trimmed = noteKind<{ readonly seq: number }>("events.trimmed");

/** For a payload with more characters, the log keeps the changes of an update instead of the record. */
const largePayload = 4_096;
/** The events among which `next` looks, the events of an answer, and the answers that are kept. */
const maxAhead = 10_000;
const maxFound = 1_000;
const maxSearches = 8;
/** How many events a replica reads at a time. */
const followedAtOnce = 200;

/** The row to store: with the payload, or with the changes if the changes are less than half of a large payload. */
function keptOf({ changes }: NewEvent, row: WrittenRow): WrittenRow {
  if (changes === undefined || row.payload.length <= largePayload) return row;
  const { text } = JsonText.of(changes());
  return text.length < row.payload.length / 2 ? { ...row, payload: text, partial: 1 } : row;
}

/** The log of all events. Listeners get an event when the event and the change are on disk, in commit order. */
export class EventLog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #listeners: readonly EventListener[] = [];
  readonly types: TypeBlocks;
  /** The requests whose changes the log has. */
  readonly requests: RequestLog;
  #whenGrown: () => void = () => undefined;
  #indexer: EventIndexer | null = null;
  #recorder: EventRecorder | null = null;
  /** Whether transactions note the live parts of events. */
  #notesParts = false;
  /** In a replica: the live parts of the events that are not told yet, by seq. Null elsewhere. */
  #parts: Map<number, LiveParts> | null = null;
  #end: LogEnd = { seq: 0, at: 0, total: 0, marked: 0 };
  #flushedSeq = 0;
  /** The transaction of the newest event, and the first event of the transaction. Transactions do not overlap. */
  #present: { readonly tx: Transactor; readonly first: number } | null = null;
  /** The seq of the first deletion of each transaction. */
  readonly #deletions = new WeakMap<Transactor, number>();
  /** The deletions that were looked for last, by their types. */
  readonly #found = new BoundedMap<string, { from: number; until: number; events: readonly LoggedEvent[] }>(
    maxSearches,
  );

  constructor(options: { database: Database; clock: Clock; logger: Logger }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.types = new TypeBlocks(() => options.database.reader);
    this.requests = new RequestLog(options);
    const { projection } = options.database;
    projection.on(appended, (end) => {
      this.#end = end;
    });
    projection.on(liveParts, (parts) => void this.#parts?.set(parts.seq, parts));
    projection.on(trimmed, ({ seq }) => this.types.trimmed(seq));
  }

  /** Reads the position and size of the stored log. Call `start` once, before the first event. */
  start(): void {
    const { reader } = this.#database;
    this.#end = { ...lastGiven(reader), ...measureSize(reader) };
    this.#flushedSeq = this.#end.seq;
    this.#clock.atLeast(this.#end.at);
  }

  /** In a reader process: no event is known to be on disk until the process that writes says so (`isFlushed`, `follow`). */
  startFollowing(): void {
    this.start();
    this.#flushedSeq = 0;
  }

  /** In a reader process: the events up to `seq` are on disk. */
  isFlushed(seq: number): void {
    this.#flushedSeq = Math.max(this.#flushedSeq, seq);
  }

  /**
   * In a reader process: an event of the process that writes is on disk. Listeners get the event. Answers a promise if the next event
   * must wait for that promise.
   */
  follow(event: LoggedEvent): Promise<void> | undefined {
    this.isFlushed(event.seq);
    return this.#listeners.length > 0 ? this.#dispatch(event) : undefined;
  }

  /** In the leader of a cluster: transactions note the parts of events that the table does not have. */
  noteLiveParts(): void {
    this.#notesParts = true;
  }

  /** In a replica of a cluster: `start`; `followTable` tells the events of further commits. */
  startReplica(): void {
    this.start();
    // The leader writes the requests that it answers.
    this.requests.tellTo(() => undefined);
    this.#parts = new Map();
  }

  /** In a replica: tells listeners the committed events that were not told yet, in order. */
  async followTable(): Promise<void> {
    while (this.#flushedSeq < this.#end.seq) {
      const rows = eventsAfter(this.#database.reader, this.#flushedSeq, followedAtOnce);
      // The newest events may have been trimmed already.
      if (rows.length === 0) this.isFlushed(this.#end.seq);
      for (const row of rows) {
        const { previous = null, payload = null } = this.#parts?.get(row.seq) ?? {};
        const whole = payload === null ? row : { ...row, payload, partial: 0 as const };
        await this.follow(new LoggedEvent(whole, previous));
      }
    }
    this.#parts?.clear();
  }

  /** The seq of the newest event: committed, or as of a transaction. Also of an event that was trimmed. */
  lastSeq(tx?: Transactor): number {
    return (tx?.lastNote(appended) ?? this.#end).seq;
  }

  /** The seq of the newest event that listeners got. The table may hold later events that are not on disk yet. */
  get flushedSeq(): number {
    return this.#flushedSeq;
  }

  /** Calls `recorder` in the transactions of the events that the recorder wants. The log has at most one recorder. */
  recordWith(recorder: EventRecorder): void {
    if (this.#recorder !== null) throw new Error("The event log has a recorder already");
    this.#recorder = recorder;
  }

  /** For the log's own retention: calls `grown` each time the log has grown by a few hundred kilobytes. */
  onGrowth(grown: () => void): void {
    this.#whenGrown = grown;
  }

  /** Keeps the index of the log whole, until `signal` is aborted. Answers the indexer, which may be at work then. */
  startIndex(signal: AbortSignal): EventIndexer {
    const [database, logger] = [this.#database, this.#logger];
    const indexer = new EventIndexer({ database, logger, signal, flushedSeq: () => this.#flushedSeq });
    this.#indexer = indexer;
    indexer.run();
    return indexer;
  }

  /** For the log's own retention: removes the oldest events, at most `limit`, up to seq `until`. */
  trim(tx: Transactor, part: { until: number; limit: number }): void {
    const seq = trimEvents(tx, part, (first, last) => this.#recorder?.beforeTrim(tx, first, last));
    tx.note(trimmed.of({ seq }));
  }

  /** Writes an event in the transaction of its change. `now` is the time of the change. */
  append(tx: Transactor, event: NewEvent, now: number = this.#clock.now()): void {
    const end = tx.lastNote(appended) ?? this.#end;
    const seq = end.seq + 1;
    const at = Math.max(end.at, now);
    const time = at === now ? null : now;
    const { type, source } = event;
    const actor = actorOf(event.principal);
    const owner = event.owner ?? null;
    const { text: payload } = event.payload instanceof JsonText ? event.payload : JsonText.of(event.payload);
    const deletion = type.endsWith(".deleted") ? this.#deletions.getOrInsert(tx, seq) : this.#deletions.get(tx);
    const since = deletion !== undefined && deletion < seq ? { since: deletion } : null;
    const basis =
      event.basis === undefined || event.basis === null ? null : JSON.stringify({ ...event.basis, ...since });
    const caused = causeOf(event.principal);
    const cause = caused === null ? null : causeText(caused);
    // Changes that are taken back set off nothing: what the changes have set off was done.
    const isWanted = this.#recorder?.wanted.has(type) === true && caused?.kind !== "undo";
    const recorder = isWanted ? this.#recorder : null;
    if (this.#present?.tx !== tx) this.#present = { tx, first: seq };
    const first = this.#present.first === seq ? null : this.#present.first;
    const row: WrittenRow = { seq, at, time, type, source, actor, owner, payload, partial: 0, basis, cause, first };
    const logged = recorder === null ? null : new LoggedEvent(row, event.previous);
    const kept = keptOf(event, row);
    const basisBytes = basis === null ? 0 : Buffer.byteLength(basis);
    // A cause is ASCII but for the name of a file.
    const total = end.total + Buffer.byteLength(kept.payload) + basisBytes + (cause?.length ?? 0) + rowBytes;
    const isMarkDue = total - end.marked >= markEvery;
    tx.note(appended.of({ seq, at, total, marked: isMarkDue ? total : end.marked }));
    if (this.#notesParts && (event.previous !== undefined || kept !== row))
      tx.note(liveParts.of({ seq, previous: event.previous ?? null, payload: kept === row ? null : payload }));
    tx.onDurable(() => {
      this.#flushedSeq = Math.max(this.#flushedSeq, seq);
      if (isMarkDue) this.#whenGrown();
      if (this.#indexer === null && this.#listeners.length === 0) return undefined;
      const told = logged ?? new LoggedEvent(row, event.previous);
      this.#indexer?.add({ seq, keys: told.keysWith(caused === null ? [] : idsOf(caused)) });
      return this.#dispatch(told);
    });
    insertEvent(tx, kept);
    if (isMarkDue) insertMark(tx, { seq, total });
    if (recorder === null || logged === null) return;
    recorder.record(tx, {
      event: logged,
      previous: event.previous ?? null,
      depth: depthOf(event.principal),
      chain: chainOf(event.principal),
    });
  }

  /** The seq of the newest event that is committed; the flush may be under way. */
  get committedSeq(): number {
    return this.#end.seq;
  }

  /** The size of the log: events, bytes, and the time of the oldest event (milliseconds since 1970). */
  extent(): { events: number; bytes: number; oldest: number | null } {
    const { reader } = this.#database;
    const first = oldestEvent(reader);
    const events = first === null ? 0 : this.#flushedSeq - first.seq + 1;
    return { events, bytes: this.bytes(reader), oldest: first?.at ?? null };
  }

  /** The approximate bytes of the events in the log. */
  bytes(reader: Reader): number {
    return this.#end.total - (firstMark(reader)?.total ?? 0);
  }

  /** The newest seq to remove so that at most `maxBytes` stay; 0 if no event must go. */
  seqBeyond(reader: Reader, maxBytes: number): number {
    const surplus = this.#end.total - maxBytes;
    return surplus <= 0 ? 0 : (markFrom(reader, surplus)?.seq ?? 0);
  }

  /** Calls `listener` with every event from now on, or with the events of some types. Answers a function that ends the calls. */
  listen(listener: EventListener, types: ReadonlySet<string> | null = null): () => void {
    const chosen: EventListener = (event) => (types?.has(event.type) === true ? listener(event) : undefined);
    const added = types === null ? listener : chosen;
    this.#listeners = [...this.#listeners, added];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== added);
    };
  }

  /** At most `limit` events after `seq`, oldest first. */
  read(seq: number, limit: number, reader: Reader = this.#database.reader): LoggedEvent[] {
    return eventsAfter(reader, seq, limit).map((row) => new LoggedEvent(row));
  }

  /**
   * The events of some types after seq `after`, up to `until` at most. A call reads at most `width` seqs and no
   * payloads, so that a long log is read in short steps. Seqs known to hold no event of these types are skipped.
   * Null when events after `after` were trimmed.
   */
  page(options: { after: number; until: number; width: number; types: readonly string[] }): EventPage | null {
    const { after, until, width, types } = options;
    const start = this.types.skip(after, until, types);
    const end = Math.min(until, start + width);
    const { reader } = this.#database;
    const rows = headsOf(reader, types, { after: start, until: end });
    // Read after the rows, so that events trimmed between the two reads are detected.
    const trimmed = lastTrimmed(reader);
    if (trimmed !== null && trimmed.seq > after) return null;
    return { events: rows.map(({ at, ...row }) => ({ ...row, timestamp: toTimestamp(at) })), end };
  }

  /**
   * The first events of some types from a seq on, among the next `maxAhead` events. Changes of one transaction are asked for together,
   * so the answer is kept: the same array while no event is added.
   */
  next(types: readonly string[], from: number): readonly LoggedEvent[] {
    const key = types.join();
    const known = this.#found.get(key);
    const found = known?.from === from ? known : { from, until: from - 1, events: [] };
    const until = Math.min(this.#end.seq, from + maxAhead);
    const limit = maxFound - found.events.length;
    if (limit === 0 || until <= found.until) return found.events;
    const rows = eventsOf(this.#database.reader, types, { after: found.until, until, limit });
    const events = rows.length === 0 ? found.events : [...found.events, ...rows.map((row) => new LoggedEvent(row))];
    this.#found.set(key, { from, until, events });
    return events;
  }

  /** The matching events, newest first, and the total number. A long log is read on a thread. */
  async search(
    filter: EventFilter,
    page: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: LoggedEvent[]; total: number }> {
    const reader = asSlowReader(this.#database.reader);
    const range = await seqRange(reader);
    const isLong = range !== null && range.last - range.first > manyEvents;
    if (!isLong && !hasAudit(this.#database.reader)) return searchEvents(reader, filter, page);
    return this.#database.readOnThread((thread) => searchEvents(thread, filter, page), page.waiter);
  }

  /** See `auditAfter`. On a thread: a page may pass over all sign-ins of a long log. */
  audit(range: AuditRange, waiter: Waiter): Promise<LoggedEvent[]> {
    return this.#database.readOnThread((thread) => auditAfter(thread, range), waiter);
  }

  /** See `eventsByKey`. */
  about(search: KeySearch, waiter: Waiter): Promise<LoggedEvent[]> {
    return eventsByKey(this.#database, search, { waiter, newest: this.#end.seq });
  }

  /** See `eventsOfTrace`. */
  trace(key: string, most: TraceBounds, waiter: Waiter): ReturnType<typeof eventsOfTrace> {
    return eventsOfTrace(this.#database, key, { ...most, waiter, newest: this.#end.seq });
  }

  /** Erases the values in the events of some types about a record. Answers the number of events. */
  erase(tx: Transactor, id: string, types: readonly string[]): number {
    const seqs = seqsOf(tx, { key: id, before: Number.MAX_SAFE_INTEGER, limit: Number.MAX_SAFE_INTEGER });
    // A run that waits keeps the event as its input.
    for (const seq of seqs) this.#recorder?.beforeTrim(tx, seq, seq);
    return eraseEvents(tx, { id, seqs, types });
  }

  /** The changes of records by a user since a time, newest first. A long log is read on a thread. */
  async by(search: ActorSearch, waiter: Waiter): Promise<LoggedEvent[]> {
    const reader = asSlowReader(this.#database.reader);
    const range = await seqRange(reader);
    const isLong = range !== null && range.last - range.first > manyEvents;
    return isLong
      ? this.#database.readOnThread((thread) => changesBy(thread, search), waiter)
      : changesBy(reader, search);
  }

  /** The event at a seq; null if the event was trimmed. */
  at(seq: number, reader: Reader = this.#database.reader): LoggedEvent | null {
    const row = eventAt(reader, seq);
    return row === null ? null : new LoggedEvent(row);
  }

  /** The time of the newest event that was trimmed, in milliseconds since 1970; 0 if no event was trimmed. */
  get trimmedUntil(): number {
    return lastTrimmed(this.#database.reader)?.at ?? 0;
  }

  /** The seq of an event, if the log knows the event and still holds all later events; otherwise null. */
  seqOf(id: string): number | null {
    const position = parseEventId(id);
    if (position === null || position.seq > this.#flushedSeq) return null;
    const { reader } = this.#database;
    const found = positionOf(reader, position.seq);
    // An event with another time belongs to another log: a database restored from a backup, or another database.
    const known = found ?? lastTrimmed(reader);
    return known?.seq === position.seq && known.at === position.at ? position.seq : null;
  }

  /** Whether an id is of an event after the newest event that listeners got. */
  isAhead(id: string): boolean {
    return (parseEventId(id)?.seq ?? 0) > this.#flushedSeq;
  }

  /** A slow listener answers a promise, and the next listeners wait for that promise. */
  #dispatch(event: LoggedEvent, listeners = this.#listeners): Promise<void> | undefined {
    let told = 0;
    for (const listener of listeners) {
      told += 1;
      const telling = this.#tell(listener, event);
      if (telling !== undefined) return telling.then(() => this.#dispatch(event, listeners.slice(told)));
    }
    return undefined;
  }

  #tell(listener: EventListener, event: LoggedEvent): Promise<unknown> | undefined {
    try {
      const telling = listener(event);
      return telling === undefined ? undefined : Promise.resolve(telling).catch((error) => this.#failed(event, error));
    } catch (error) {
      this.#failed(event, error);
      return undefined;
    }
  }

  #failed({ id, type }: LoggedEvent, error: unknown): void {
    this.#logger.error("A listener of the event log failed", { event: id, type, error });
  }
}
