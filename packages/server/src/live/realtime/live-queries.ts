/**
 * Live queries: all windows that sockets view, each once for the callers who get the same answer. A commit marks the windows that
 * may have changed; a marked window is read again after a pause (`realtime.liveEvery`), in turns with realtime's other work.
 *
 * A window that costs more is read less often: a window takes a twentieth of a processor for each caller (a fifth for all), and all windows of a
 * caller take the caller's budget (`limits.filterTime`).
 */
import type { Config } from "../../base/config/index.ts";
import { AppError, CallerGone } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import { type Collections, definitionsChanged } from "../../data/collections/index.ts";
import type { LiveLists } from "../../data/queries/index.ts";
import { recordsChanged } from "../../data/records/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { tally } from "./audience.ts";
import { CommitWatch } from "./commit-watch.ts";
import { FrameError } from "./frames.ts";
import { LiveBudget, recordsOf, sharesOf } from "./live-budget.ts";
import { entryOf, isNamed, keysOf, type LiveEntry } from "./live-entry.ts";
import { frameErrorOf, refusing, tooLarge } from "./live-errors.ts";
import { LiveQuery, type Viewer } from "./live-query.ts";
import { anything, type LivePlan, type LiveSource, LiveSources, type NamedQueries } from "./live-sources.ts";
import type { Budgets, Turns } from "./turns.ts";

export interface LiveOptions {
  readonly database: Database;
  readonly collections: Collections;
  readonly events: EventLog;
  readonly lists: LiveLists;
  /** The server queries. */
  readonly named: NamedQueries;
  readonly limits: LimitMeter;
  readonly logger: Logger;
  readonly turns: Turns;
  readonly budgets: Budgets;
  readonly config: Config;
}

/** The window of one caller takes a twentieth of a processor: a read of 10 ms is made every 200 ms. */
const restFactor = 20;
/** A window of several callers takes the share of each caller, and a fifth of a processor at most. */
const leastRestFactor = 5;
/** Milliseconds between two reads of a window that depends on the time. */
const timeEveryMs = 1_000;
/** A window without viewers is kept for so many milliseconds, for viewers who come back. */
const lingerMs = 60_000;
/** Milliseconds before a window is read again that could not be read. */
const retryMs = 1_000;
/** Failed runs, one after the other, after which a server query ends that another run might answer. */
const maxFailures = 5;

export class LiveQueries {
  readonly #options: LiveOptions;
  readonly #entries = new Map<string, LiveEntry>();
  readonly #byViewer = new Map<Viewer, LiveEntry>();
  readonly #sources: LiveSources;
  /** The entries that no commit since the last read may have changed. */
  readonly #clean = new CommitWatch<LiveEntry>();
  readonly #room: LiveBudget;
  /** Milliseconds between two reads of a window. */
  readonly #every: number;
  /** Called when the events of a group commit are on disk. */
  #flushed: PromiseWithResolvers<void> | null = null;
  /** Ends the calls of the event log; null without entries: a service without live queries does no work for an event. */
  #stopListening: (() => void) | null = null;
  #isClosed = false;
  /** The seq at the last change of somebody's role. */
  #rolesSeq = -1;

  constructor(options: LiveOptions) {
    this.#options = options;
    const { budgets, config, limits, lists, named } = options;
    this.#every = config["realtime.liveEvery"];
    this.#sources = new LiveSources({ budgets, lists, named });
    this.#room = new LiveBudget({ limits, capacity: config["limits.liveRecords"] });
    const { projection } = options.database;
    projection.on(recordsChanged, ({ collection, owners }) => {
      if (this.#entries.size === 0) return;
      this.#changed(collection, owners);
      this.#changed(anything, []);
    });
    projection.on(definitionsChanged, () => setImmediate(() => this.#redefined()));
    named.onLoad(() => this.#reloaded());
  }

  #add(entry: LiveEntry): void {
    this.#entries.set(entry.key, entry);
    this.#stopListening ??= this.#options.events.listen(({ seq }) => {
      this.#flushed?.resolve();
      this.#flushed = null;
      // Files, sessions and runs have events, and are no records.
      this.#changed(anything, [], seq - 1);
      this.#stopIfIdle();
    });
  }

  #stopIfIdle(): void {
    if (this.#entries.size > 0 || this.#flushed !== null) return;
    this.#stopListening?.();
    this.#stopListening = null;
  }

  close(): void {
    this.#isClosed = true;
    this.#stopListening?.();
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
    for (const share of sharesOf(viewer)) tally(entry.query.shares, share, 1);
    const isOfRole = since !== null && since > this.#rolesSeq;
    if (isOfRole && entry.state === "clean" && entry.query.resume(viewer, since, this.#committed)) return;
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
    if (entry.records > 0) {
      for (const share of sharesOf(viewer)) tally(query.shares, share, -1);
      this.#room.leave(viewer, entry.records, query.shares);
    }
    if (!query.isEmpty) return;
    clearTimeout(entry.timer ?? undefined);
    entry.abort?.abort();
    if (entry.state === "clean" && !query.plan.onTime)
      entry.timer = setTimeout(() => this.#forget(entry), lingerMs).unref();
    else this.#forget(entry);
  }

  /** The seq up to which a viewer's window is told: each event up to the seq is in the window, or does not change the window. */
  toldUpTo(viewer: Viewer): number {
    const entry = this.#byViewer.get(viewer);
    if (entry === undefined || !entry.query.viewers.has(viewer)) return viewer.toldSeq ?? 0;
    return entry.state === "clean" ? this.#options.events.flushedSeq : entry.seq;
  }

  /** The query of a viewer; null for a viewer that has left. */
  sourceOf(viewer: Viewer): LiveSource | null {
    return this.#byViewer.get(viewer)?.query.source ?? null;
  }

  get #committed(): number {
    return this.#options.events.committedSeq;
  }

  /** @throws AppError as `LiveSources.prepare`; FrameError `query_limit`. */
  #entryFor(viewer: Viewer, source: LiveSource): LiveEntry {
    const { listener } = viewer;
    const plan = this.#sources.prepare(source, listener);
    const key = this.#sources.keyOf(source, plan, listener);
    const found = this.#entries.get(key);
    const records = found?.records ?? recordsOf(key, source, plan);
    // Windows that wait for viewers to come back make room.
    if (found === undefined && this.#room.isFull(records))
      for (const entry of [...this.#entries.values()]) if (entry.query.isEmpty) this.#forget(entry);
    this.#room.admit(viewer, records, found?.query.shares ?? null);
    if (found !== undefined) {
      if (found.query.isEmpty) clearTimeout(found.timer ?? undefined);
      return found;
    }
    const entry = entryOf(key, new LiveQuery(source, plan, this.#every), records);
    entry.watched = keysOf(plan, listener);
    this.#add(entry);
    return entry;
  }

  #forget(entry: LiveEntry): void {
    clearTimeout(entry.timer ?? undefined);
    if (this.#entries.get(entry.key) !== entry) return;
    this.#entries.delete(entry.key);
    this.#stopIfIdle();
    this.#room.total -= entry.records;
    this.#clean.remove(entry);
  }

  /**
   * A commit has changed records, or anything else. Each window is marked once until the next read, however many records change.
   * @param toldSeq each event up to this seq is in the marked windows: the commit of the change is not on disk yet.
   */
  #changed(collection: string, owners: readonly (string | null)[], toldSeq = this.#options.events.flushedSeq): void {
    for (const entry of this.#clean.changed(collection, owners)) this.#mark(entry, toldSeq);
  }

  /** The window may be another window now. */
  #mark(entry: LiveEntry, toldSeq: number): void {
    entry.isStale = true;
    if (entry.state !== "clean") return;
    entry.seq = Math.max(entry.seq, toldSeq);
    if (entry.query.isEmpty) this.#forget(entry);
    else this.#makeDue(entry);
  }

  /** Other definitions: the windows, the rights and the callers who get the same answer may be others. */
  #redefined(): void {
    for (const entry of [...this.#entries.values()])
      if (isNamed(entry)) this.#mark(entry, this.#options.events.flushedSeq);
      else this.#viewAllAgain(entry);
  }

  #viewAllAgain(entry: LiveEntry): void {
    const viewers = [...entry.query.viewers, ...entry.query.waiting];
    for (const viewer of viewers) this.leave(viewer);
    this.#forget(entry);
    for (const viewer of viewers) this.#viewAgain(viewer, entry.query);
  }

  /** The user's code was loaded: a server query may be gone, be for other callers, or have another value. */
  #reloaded(): void {
    for (const entry of [...this.#entries.values()].filter(isNamed)) {
      const { source, viewers, waiting } = entry.query;
      for (const viewer of [...viewers, ...waiting])
        try {
          refusing(() => this.#sources.prepare(source, viewer.listener));
        } catch (thrown) {
          if (!(thrown instanceof FrameError)) throw thrown;
          viewer.end(thrown);
        }
      if (this.#entries.get(entry.key) === entry) this.#mark(entry, this.#options.events.flushedSeq);
    }
  }

  /** Views a window again by other definitions or rights. The viewer gets the whole window, or an empty window without the right. */
  #viewAgain(viewer: Viewer, { source, plan, every }: LiveQuery): void {
    try {
      this.view(viewer, source, null);
    } catch (thrown) {
      if (!(thrown instanceof FrameError)) throw thrown;
      if (thrown.code !== "forbidden" || "name" in source) {
        viewer.end(thrown);
        return;
      }
      // The entry is for this viewer alone, and is looked at again with the next definitions.
      const query = new LiveQuery(source, { ...plan, collections: new Map(), limit: 0 }, every);
      query.waiting.add(viewer);
      query.callers.set(viewer.caller, 1);
      const key = `closed ${crypto.randomUUID()}`;
      const entry = entryOf(key, query, 0);
      this.#add(entry);
      this.#byViewer.set(viewer, entry);
      query.close(this.#options.events.flushedSeq, thrown);
    }
  }

  /** Roles have changed. An earlier seq may be of a window that the caller had in another role: nobody resumes from such a seq. */
  rolesChanged(): void {
    this.#rolesSeq = this.#committed;
  }

  /** The listener of a viewer has another role now. */
  changeListener(viewer: Viewer): void {
    const entry = this.#byViewer.get(viewer);
    if (entry === undefined) return;
    this.leave(viewer);
    this.#viewAgain(viewer, entry.query);
  }

  /** Plans the next read of a window. */
  #makeDue(entry: LiveEntry): void {
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

  async #run(entry: LiveEntry): Promise<void> {
    const { query } = entry;
    entry.timer = null;
    entry.state = "running";
    entry.isStale = false;
    entry.abort = new AbortController();
    // A change from now on makes another run due.
    this.#clean.add(entry);
    try {
      await this.#read(entry, entry.abort.signal);
      entry.failures = 0;
    } catch (thrown) {
      this.#failed(entry, thrown);
    }
    entry.readAt = performance.now();
    entry.state = "clean";
    entry.abort = null;
    if (this.#entries.get(entry.key) !== entry) return;
    if (this.#sources.isDivided(query.source, query.plan)) this.#viewAllAgain(entry);
    else if (query.isEmpty && (entry.isStale || query.waiting.size > 0)) this.#forget(entry);
    else if (entry.isStale || query.waiting.size > 0) this.#makeDue(entry);
    else if (query.plan.onTime)
      entry.timer = setTimeout(() => this.#makeDue(entry), Math.max(timeEveryMs, query.every)).unref();
  }

  async #read(entry: LiveEntry, signal: AbortSignal): Promise<void> {
    const { turns } = this.#options;
    const { query } = entry;
    const viewer = [...query.viewers, ...query.waiting][0];
    if (viewer === undefined) return;
    const { listener, caller } = viewer;
    const end = await turns.take(caller);
    // The events up to here are in every read that begins now.
    const [seq, changes] = [this.#committed, this.#clean.now];
    const reading = this.#sources.read(query.source, query.plan, { listener, caller, signal });
    // A read on the event loop is done by now; a thread needs no turn.
    end();
    const read = await reading;
    if (read === null) {
      entry.isStale = true;
      return;
    }
    await this.#onDisk(this.#committed);
    const endTelling = await turns.take(caller);
    const start = performance.now();
    try {
      this.#follow(entry, read.plan, { listener, changes });
      const { json } = read.page;
      // The value of the first caller is for no other caller.
      if (this.#sources.isDivided(query.source, query.plan)) return;
      if (json.length > this.#options.config["realtime.bufferLimit"] / 2) throw tooLarge(json.length, isNamed(entry));
      query.take({ ...read.page, seq });
      entry.seq = seq;
    } finally {
      this.#charge(query, caller, read.page.ms + performance.now() - start);
      endTelling();
    }
  }

  /** Takes the plan of a run, which may depend on other collections than before. */
  #follow(
    entry: LiveEntry,
    plan: LivePlan,
    { listener, changes }: { listener: Viewer["listener"]; changes: number },
  ): void {
    if (plan === entry.query.plan) return;
    entry.query.plan = plan;
    this.#clean.remove(entry);
    entry.watched = keysOf(plan, listener);
    // A collection that was not watched during the run may have changed after the read.
    if (this.#clean.hasChanged(entry, changes)) entry.isStale = true;
    else this.#clean.add(entry);
  }

  /** The callers of a query share the cost. @param caller who pays if nobody views the query any more. */
  #charge(query: LiveQuery, caller: string, ms: number): void {
    const { budgets } = this.#options;
    query.every = Math.max(this.#every, ms * Math.max(leastRestFactor, restFactor / query.callers.size));
    const callers = query.callers.size === 0 ? [caller] : query.callers.keys();
    const part = ms / Math.max(1, query.callers.size);
    for (const each of callers) budgets.charge(each, part);
  }

  /** Resolves when each event up to a seq is on disk: a viewer never sees a change that a power cut could undo. */
  async #onDisk(seq: number): Promise<void> {
    while (this.#options.events.flushedSeq < seq && !this.#isClosed) {
      this.#flushed ??= Promise.withResolvers();
      await this.#flushed.promise;
    }
  }

  /** A read has failed: a right has ended, the query does not fit the definitions any more, or the service has no room now. */
  #failed(entry: LiveEntry, thrown: unknown): void {
    const { query } = entry;
    // A query that differs between callers fails for each caller alone.
    if (thrown instanceof CallerGone || this.#sources.isDivided(query.source, query.plan)) return;
    const error = thrown instanceof AppError ? frameErrorOf(thrown) : thrown;
    if (!(error instanceof FrameError)) {
      if (!this.#isClosed) this.#options.logger.error("A live query failed", { error: thrown });
      query.fail(new FrameError("unavailable", "The query could not be run. The log of the service says why."));
      return;
    }
    entry.failures += 1;
    const mayPass = thrown instanceof AppError && thrown.retryAfter !== undefined && entry.failures < maxFailures;
    if (error.code === "forbidden" && !isNamed(entry)) query.close(this.#options.events.flushedSeq, error);
    else if (error.code === "unavailable" && (mayPass || !isNamed(entry))) {
      if (!isNamed(entry)) for (const viewer of [...query.waiting]) viewer.end(error);
      query.every = Math.max(query.every, retryMs);
      entry.isStale = true;
    } else query.fail(error);
  }
}
