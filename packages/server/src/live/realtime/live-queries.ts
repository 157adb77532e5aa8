/**
 * Live queries: all windows that sockets view, each once for the callers who get the same answer. A commit marks the windows that
 * may have changed; a marked window is read again after a pause (`realtime.liveEvery`), in turns with realtime's other work.
 *
 * A window that costs more is read less often: a single window takes a twentieth of a processor at most, and all windows of a
 * caller take the caller's budget (`limits.filterTime`).
 */
import { Admission, AppError, identityOf, type Principal } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import { type Collections, definitionsChanged } from "../../data/collections/index.ts";
import { classOf, type LiveLists, type LivePage } from "../../data/queries/index.ts";
import { recordsChanged } from "../../data/records/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { tally } from "./audience.ts";
import { FrameError } from "./frames.ts";
import { LiveQuery, type LiveSource, type Viewer } from "./live-query.ts";
import type { Budgets, Turns } from "./turns.ts";

export interface LiveOptions {
  readonly database: Database;
  readonly collections: Collections;
  readonly events: EventLog;
  readonly lists: LiveLists;
  readonly limits: LimitMeter;
  readonly logger: Logger;
  readonly turns: Turns;
  readonly budgets: Budgets;
  /** Milliseconds between two reads of a window (`realtime.liveEvery`). */
  readonly every: number;
  /** Items of all windows; a caller has a quarter (`limits.liveRecords`). */
  readonly capacity: number;
  /** Bytes that may wait in a socket: a larger window could not be sent. */
  readonly bufferLimit: number;
}

/** The part of the capacity that a caller may hold. */
const share = 4;
/** A window takes a part of a processor: a read of 10 ms is made every 200 ms. */
const restFactor = 20;
/** Milliseconds between two reads of a window that depends on the time. */
const timeEveryMs = 1_000;
/** A window without viewers is kept for so many milliseconds, for viewers who come back. */
const lingerMs = 60_000;
/** Milliseconds before a window is read again that could not be read. */
const retryMs = 1_000;

/** A live query with the state of its runs. */
interface Entry {
  readonly key: string;
  readonly query: LiveQuery;
  /** The keys of `#clean`. */
  readonly watched: readonly string[];
  /** `clean`: no commit since the last read may have changed the window. */
  state: "clean" | "due" | "running";
  /** Whether a commit may have changed the window during the run. */
  isStale: boolean;
  /** Each event up to this seq is told. */
  seq: number;
  readAt: number;
  timer: Timer | null;
}

export class LiveQueries {
  readonly #options: LiveOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #byViewer = new Map<Viewer, Entry>();
  /** Entries that a change of a collection, or of an owner's records in a collection, makes due. */
  readonly #clean = new Map<string, Set<Entry>>();
  /** Items that the windows of each caller, and all windows, may have. */
  readonly #held = new Map<string, number>();
  #total = 0;
  /** Windows that need a reader thread are read one after the other, so that other queries have the other threads. */
  readonly #onThread = new Admission({ width: 1 });
  /** Called when the events of a group commit are on disk. */
  #flushed: PromiseWithResolvers<void> | null = null;
  readonly #stops: (() => void)[];
  #isClosed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
    const { projection } = options.database;
    projection.on(recordsChanged, ({ collection, owners }) => this.#changed(collection, owners));
    projection.on(definitionsChanged, () => setImmediate(() => this.#redefined()));
    this.#stops = [
      options.events.listen(() => {
        this.#flushed?.resolve();
        this.#flushed = null;
      }),
    ];
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
    for (const { timer } of this.#entries.values()) clearTimeout(timer ?? undefined);
    this.#entries.clear();
  }

  /**
   * Begins to view a window. The first window, or the change since a seq, follows.
   * @param since the seq of the last frame of the window, or null.
   * @throws FrameError `invalid_query`, `forbidden`, `query_limit`.
   */
  view(viewer: Viewer, source: LiveSource, since: number | null): void {
    const entry = refusing(() => this.#entryFor(viewer, source));
    this.#byViewer.set(viewer, entry);
    tally(entry.query.callers, viewer.caller, 1);
    if (since !== null && entry.state === "clean" && entry.query.resume(viewer, since, this.#committed)) return;
    entry.query.waiting.add(viewer);
    this.#makeDue(entry);
  }

  /** Ends a view. A second call does nothing. */
  leave(viewer: Viewer): void {
    const entry = this.#byViewer.get(viewer);
    if (entry === undefined) return;
    const { query } = entry;
    this.#byViewer.delete(viewer);
    query.viewers.delete(viewer);
    query.waiting.delete(viewer);
    tally(query.callers, viewer.caller, -1);
    if (!query.callers.has(viewer.caller)) this.#count(viewer.caller, -query.list.limit);
    if (!query.isEmpty) return;
    clearTimeout(entry.timer ?? undefined);
    if (entry.state === "clean" && !query.list.onTime)
      entry.timer = setTimeout(() => this.#forget(entry), lingerMs).unref();
    else this.#forget(entry);
  }

  /** The seq up to which a viewer's window is told: each event up to the seq is in the window, or does not change the window. */
  toldUpTo(viewer: Viewer): number {
    const entry = this.#byViewer.get(viewer);
    if (entry === undefined || !entry.query.viewers.has(viewer)) return viewer.toldSeq ?? 0;
    return entry.state === "clean" ? this.#options.events.flushedSeq : entry.seq;
  }

  get #committed(): number {
    return this.#options.events.committedSeq;
  }

  /** @throws AppError as `LiveLists.prepare`; FrameError `query_limit`. */
  #entryFor({ listener, caller }: Viewer, source: LiveSource): Entry {
    const { lists, every } = this.#options;
    const { collection, parameters } = source;
    const list = lists.prepare(collection, parameters, listener);
    const audience = list.onCaller ? `${identityOf(listener) ?? ""} ${listener?.role ?? ""}` : "";
    const key = JSON.stringify([collection, ...[...parameters].toSorted(), classOf(listener), audience]);
    const found = this.#entries.get(key);
    if (found?.query.callers.has(caller) !== true) this.#admit(caller, list.limit, found === undefined);
    if (found !== undefined) {
      if (found.query.isEmpty) clearTimeout(found.timer ?? undefined);
      return found;
    }
    const own = identityOf(listener) ?? "";
    const watched = [...list.collections].map(([name, records]) => (records === "own" ? `${name} ${own}` : name));
    const query = new LiveQuery(source, list, every);
    const entry: Entry = { key, query, watched, state: "due", isStale: false, seq: 0, readAt: 0, timer: null };
    this.#entries.set(key, entry);
    this.#total += list.limit;
    return entry;
  }

  /** @throws FrameError `query_limit` for a window beyond the bound, of all callers or of this caller. */
  #admit(caller: string, items: number, isNew: boolean): void {
    const { capacity, limits } = this.#options;
    const isFull = isNew && this.#total + items > capacity;
    if (!isFull && (this.#held.get(caller) ?? 0) + items <= capacity / share) {
      this.#count(caller, items);
      return;
    }
    limits.reached("liveRecords", { caller });
    throw new FrameError(
      "query_limit",
      isFull
        ? "All live queries together have as many records as this service allows. Try again later, or with a smaller limit."
        : "Your live queries have as many records as one caller may. End some, or give the queries a smaller limit.",
    );
  }

  #count(caller: string, items: number): void {
    const left = (this.#held.get(caller) ?? 0) + items;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
  }

  #forget(entry: Entry): void {
    clearTimeout(entry.timer ?? undefined);
    if (this.#entries.get(entry.key) !== entry) return;
    this.#entries.delete(entry.key);
    this.#total -= entry.query.list.limit;
    this.#unwatch(entry);
  }

  #watch(entry: Entry): void {
    for (const key of entry.watched) this.#clean.getOrInsertComputed(key, () => new Set()).add(entry);
  }

  #unwatch(entry: Entry): void {
    for (const key of entry.watched) {
      const entries = this.#clean.get(key);
      entries?.delete(entry);
      if (entries?.size === 0) this.#clean.delete(key);
    }
  }

  /** A commit has changed records. Each window is marked once until the next read, however many records change. */
  #changed(collection: string, owners: readonly (string | null)[]): void {
    if (this.#clean.size === 0) return;
    for (const key of [collection, ...owners.map((owner) => `${collection} ${owner}`)]) {
      const entries = this.#clean.get(key);
      if (entries === undefined) continue;
      for (const entry of [...entries]) {
        this.#unwatch(entry);
        entry.isStale = true;
        if (entry.state !== "clean") continue;
        // The commit of the change is not on disk yet: all events on disk are told.
        entry.seq = Math.max(entry.seq, this.#options.events.flushedSeq);
        if (entry.query.isEmpty) this.#forget(entry);
        else this.#makeDue(entry);
      }
    }
  }

  /** Other definitions: the windows, the rights and the callers who get the same answer may be others. */
  #redefined(): void {
    for (const entry of [...this.#entries.values()]) {
      const viewers = [...entry.query.viewers, ...entry.query.waiting];
      for (const viewer of viewers) this.leave(viewer);
      this.#forget(entry);
      for (const viewer of viewers) this.#viewAgain(viewer, entry.query);
    }
  }

  /** Views a window again by other definitions or rights. The viewer gets the whole window, or an empty window without the right. */
  #viewAgain(viewer: Viewer, { source, list, every }: LiveQuery): void {
    try {
      this.view(viewer, source, null);
    } catch (thrown) {
      if (!(thrown instanceof FrameError)) throw thrown;
      if (thrown.code !== "forbidden") {
        viewer.end(thrown);
        return;
      }
      // The entry is for this viewer alone, and is looked at again with the next definitions.
      const query = new LiveQuery(source, { ...list, collections: new Map(), limit: 0 }, every);
      query.waiting.add(viewer);
      query.callers.set(viewer.caller, 1);
      const key = `closed ${crypto.randomUUID()}`;
      const entry: Entry = { key, query, watched: [], state: "clean", isStale: false, seq: 0, readAt: 0, timer: null };
      this.#entries.set(key, entry);
      this.#byViewer.set(viewer, entry);
      query.close(this.#options.events.flushedSeq, thrown);
    }
  }

  /** The listener of a viewer has another role now. */
  changeListener(viewer: Viewer): void {
    const entry = this.#byViewer.get(viewer);
    if (entry === undefined) return;
    this.leave(viewer);
    this.#viewAgain(viewer, entry.query);
  }

  /** Plans the next read of a window. */
  #makeDue(entry: Entry): void {
    if (entry.state === "running" || (entry.state === "due" && entry.timer !== null)) return;
    clearTimeout(entry.timer ?? undefined);
    entry.state = "due";
    const wait = Math.max(0, entry.readAt + entry.query.every - performance.now(), this.#waitOf(entry.query));
    entry.timer = setTimeout(() => void this.#run(entry), wait).unref();
  }

  /** Milliseconds until a caller of a query has processor time left. */
  #waitOf({ callers }: LiveQuery): number {
    let shortest = Number.POSITIVE_INFINITY;
    for (const caller of callers.keys()) {
      shortest = Math.min(shortest, this.#options.budgets.waitOf(caller));
      if (shortest === 0) break;
    }
    return Number.isFinite(shortest) ? shortest : 0;
  }

  async #run(entry: Entry): Promise<void> {
    const { query } = entry;
    entry.timer = null;
    entry.state = "running";
    entry.isStale = false;
    // A change from now on makes another run due.
    this.#watch(entry);
    try {
      await this.#read(entry);
    } catch (thrown) {
      this.#failed(entry, thrown);
    }
    entry.readAt = performance.now();
    entry.state = "clean";
    if (this.#entries.get(entry.key) !== entry) return;
    if (query.isEmpty && (entry.isStale || query.waiting.size > 0)) this.#forget(entry);
    else if (entry.isStale || query.waiting.size > 0) this.#makeDue(entry);
    else if (query.list.onTime)
      entry.timer = setTimeout(() => this.#makeDue(entry), Math.max(timeEveryMs, query.every)).unref();
  }

  async #read(entry: Entry): Promise<void> {
    const { turns } = this.#options;
    const { query } = entry;
    const viewer = [...query.viewers, ...query.waiting][0];
    if (viewer === undefined) return;
    const { listener, caller } = viewer;
    const end = await turns.take(caller);
    // The events up to here are in every read that begins now.
    const seq = this.#committed;
    const reading = this.#page(query, listener, caller);
    // A read on the event loop is done by now; a thread needs no turn.
    end();
    const page = await reading;
    await this.#onDisk(this.#committed);
    const endTelling = await turns.take(caller);
    try {
      const start = performance.now();
      if (page.items.length > this.#options.bufferLimit / 2) throw tooLarge(page.items.length);
      query.take({ ...page, seq });
      entry.seq = seq;
      this.#charge(query, page.ms + performance.now() - start);
    } finally {
      endTelling();
    }
  }

  #page(query: LiveQuery, listener: Principal, caller: string): Promise<LivePage> {
    const { source, list } = query;
    const signal = new AbortController().signal;
    const reader = { principal: listener, caller: () => caller, signal: () => signal };
    const read = (): Promise<LivePage> => this.#options.lists.read(source.collection, source.parameters, reader);
    return list.isOnThread ? this.#onThread.run(read, {}) : read();
  }

  /** The callers of a query share the cost. */
  #charge(query: LiveQuery, ms: number): void {
    const { budgets, every } = this.#options;
    query.every = Math.max(every, ms * restFactor);
    const part = ms / Math.max(1, query.callers.size);
    for (const caller of query.callers.keys()) budgets.charge(caller, part);
  }

  /** Resolves when each event up to a seq is on disk: a viewer never sees a change that a power cut could undo. */
  async #onDisk(seq: number): Promise<void> {
    while (this.#options.events.flushedSeq < seq && !this.#isClosed) {
      this.#flushed ??= Promise.withResolvers();
      await this.#flushed.promise;
    }
  }

  /** A read has failed: a right has ended, the query does not fit the definitions any more, or the service has no room now. */
  #failed(entry: Entry, thrown: unknown): void {
    const { query } = entry;
    const error = thrown instanceof AppError ? frameErrorOf(thrown) : thrown;
    if (!(error instanceof FrameError)) {
      if (!this.#isClosed) this.#options.logger.error("A live query failed", { error: thrown });
      query.fail(new FrameError("unavailable", "The query could not be run. The log of the service says why."));
      return;
    }
    if (error.code === "forbidden") query.close(this.#options.events.flushedSeq, error);
    else if (error.code === "unavailable") {
      for (const viewer of [...query.waiting]) viewer.end(error);
      query.every = Math.max(query.every, retryMs);
      entry.isStale = true;
    } else query.fail(error);
  }
}

function tooLarge(bytes: number): FrameError {
  return new FrameError(
    "query_too_large",
    `The window has ${bytes} characters, more than fit a socket. Ask for fewer records with "limit", or for less of each with "fields".`,
  );
}

/** An error of a list, as the error of a frame. */
function frameErrorOf({ code, message }: AppError): FrameError {
  if (code === "unauthorized" || code === "forbidden") return new FrameError("forbidden", message);
  if (code === "bad_request" || code === "not_found") return new FrameError("invalid_query", message);
  return new FrameError("unavailable", message);
}

function refusing<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw thrown instanceof AppError ? frameErrorOf(thrown) : thrown;
  }
}
