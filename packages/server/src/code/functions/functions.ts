/**
 * Functions: handlers that run after an event (spec, "Functions"). The transaction of a change also writes the runs, so
 * each run is made at least once, even if the process ends in between.
 */
import { type Event, type FunctionRun, type StoredRecord, USERS } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, actingFor, nearest, newId, quote, SetupError } from "../../base/kernel/index.ts";
import { type Collections, definitionsChanged } from "../../data/collections/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Reader, Transactor, Waiter } from "../../store/database/index.ts";
import { type AppendedEvent, type EventRecorder, LoggedEvent } from "../../store/events/index.ts";
import type { Failure } from "../../store/failures/index.ts";
import {
  type HandlerRun,
  linear,
  type MachineOptions,
  type OpenRun,
  type Prepared,
  RunMachine,
  type RunTask,
  widthPerProcess,
} from "../runs/index.ts";
import type { BrokenScript, Script, ScriptHost, ScriptKind, ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import {
  Deliveries,
  type Delivery,
  type DeliveryHead,
  eventSeqOf,
  lastIdOf,
  maxPerEvent,
  parseRunId,
  runIdOf,
} from "./delivery-table.ts";
import { lanesOf, noticeOf, type Trigger, triggersOf } from "./function-file.ts";
import { Hooks, type HooksOptions } from "./hooks.ts";
import { endOf, listRuns, type RunFilter } from "./run-list.ts";

/** The window in which arrivals and starts are counted. */
const windowMs = 20;
/** Arrivals in a window from which on starts are limited. */
const busyArrivals = 80;
/** Starts in a window while starts are limited. */
const busyStarts = 25;
/** The share of the width that a single file may take, so that a slow file leaves room for other files. */
const shareOfFile = 2 / 3;

export interface FunctionsOptions extends MachineOptions {
  readonly auth: Auth;
  readonly records: Pick<Records, "users">;
  readonly collections: Pick<Collections, "all" | "successorsOf">;
  readonly config: Config;
  readonly host: ScriptHost;
  readonly reads: HooksOptions["reads"];
}

export class Functions extends RunMachine<DeliveryHead, HandlerRun> implements ScriptKind, EventRecorder {
  readonly folder = "functions";
  readonly firstLane = "runs";
  readonly lanesOf = lanesOf;
  readonly noticeOf = noticeOf;
  readonly hooks: Hooks;
  readonly #options: FunctionsOptions;
  readonly #deliveries: Deliveries;
  readonly #limiter = new StartLimiter(() => this.dispatcher.startReady());
  #triggers: readonly Trigger[] = [];
  /** The triggers in force, by event type. */
  wanted: ReadonlyMap<string, readonly Trigger[]> = new Map();

  constructor(options: FunctionsOptions) {
    const { auth, clock, collections, config, database, events, failures, host, logger, processes, reads } = options;
    const table = new Deliveries(database, events);
    super({ clock, database, events, failures, host, logger, now: Date.now, processes, table });
    this.#options = options;
    this.#deliveries = table;
    this.hooks = new Hooks({ auth, clock, collections, config, failures, host, logger, processes, reads });
    database.projection.on(definitionsChanged, () => this.hooks.followCollections());
  }

  /** Joins the event log as the recorder. Waiting deliveries run after files are loaded. Call `start` once. */
  start(): void {
    this.dispatcher.start(this.#deliveries.lastId());
    this.#options.events.recordWith(this);
  }

  /** Every trigger in force, by file. */
  triggers(): readonly Trigger[] {
    return this.#triggers;
  }

  check(script: Script): void {
    triggersOf(script, this.#options.config["scripts.timeout"]);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    const triggers = scripts.flatMap((script) => triggersOf(script, this.#options.config["scripts.timeout"]));
    await this.#deliveries.register(triggers);
    const byType = Map.groupBy(triggers, ({ eventType }) => eventType);
    for (const [type, { length }] of byType)
      if (length > maxPerEvent)
        throw new SetupError(`${type} has ${length} functions; at most ${maxPerEvent} are possible`);
    this.#triggers = triggers;
    this.wanted = byType;
    const width = Math.max(1, Math.floor(widthPerProcess * this.#options.processes * shareOfFile));
    const byPath = Map.groupBy(triggers, ({ path }) => path);
    this.dispatcher.use([...byPath].map(([path, group]) => this.#deliveries.sourceOf(path, group, width)));
    this.hooks.use(scripts, broken);
    this.#warnOfUnknown([...triggers, ...this.hooks.list()]);
    const known = new Set(scripts.map(({ file }) => file.path));
    this.warnOfWaiting(known, broken, "is not there any more");
  }

  /** Warns of folders with a misspelt name, because the functions would never run. */
  #warnOfUnknown(triggers: readonly Pick<Trigger, "path" | "handler" | "collection" | "eventType">[]): void {
    const { collections } = this.#options;
    const names = [...collections.all().map(({ name }) => name), USERS];
    for (const { path, handler, collection, eventType } of triggers) {
      if (eventType.startsWith(`${USERS}.`) && !this.#options.records.users.isOn)
        this.#options.logger.warn(`${path}: without collections/${USERS}.json, ${handler} never runs`);
      if (names.includes(collection)) continue;
      const near = collections.successorsOf(collection)[0] ?? nearest(collection, names);
      const advice = near === null ? "" : `; did you mean functions/${near}/?`;
      this.#options.logger.warn(`${path}: there is no collection ${quote(collection)}, so it never runs${advice}`);
    }
  }

  record(tx: Transactor, appended: AppendedEvent): void {
    const triggers = this.wanted.get(appended.event.type) ?? [];
    tx.onDurable(() => {
      this.#limiter.arrived();
      this.dispatcher.written({ id: lastIdOf(appended.event.seq) });
    });
    this.#deliveries.add(tx, appended, triggers);
  }

  beforeTrim(tx: Transactor, first: number, last: number): void {
    this.#deliveries.keepEvents(tx, first, last);
  }

  protected override mayStart(): boolean {
    return this.#limiter.take();
  }

  /** The numbers of runs that wait, are under way, or have failed for good. */
  queue(): { waiting: number; running: number; failed: number } {
    const { open, failed } = this.#deliveries.counts();
    const running = Math.min(open, this.dispatcher.underWay().length);
    return { waiting: open - running, running, failed };
  }

  /** The time of the oldest event that waits for a run, in milliseconds since 1970; null when no run waits. */
  oldest(): number | null {
    return this.#deliveries.oldest();
  }

  /** The unfinished runs, then the finished runs with ends that the event log still holds; each group newest first. */
  runs(
    filter: RunFilter,
    page: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: FunctionRun[]; total: number }> {
    const { database, events } = this.#options;
    return listRuns({
      database,
      events,
      deliveries: this.#deliveries,
      running: new Set(this.dispatcher.underWay()),
      filter,
      page,
    });
  }

  /**
   * Repeats a run that has failed for good, with all attempts.
   * @throws AppError `not_found`, or `bad_request` for a run that is not over.
   */
  retry(tx: Transactor, runId: string): { path: string; handler: string } {
    const run = parseRunId(runId);
    if (run === null) throw new AppError("not_found", `There is no run ${quote(runId)}.`);
    const head = this.#deliveries.retry(tx, run, ({ path, handler }) => {
      if (!this.#triggers.some((trigger) => trigger.path === path && trigger.handler === handler))
        throw new AppError("bad_request", `${handler} of ${path} is not loaded, so it cannot be run again.`);
    });
    tx.onDurable(() => this.dispatcher.reopened(head));
    return head;
  }

  /**
   * The task of a run for the present code; null for an id that is no id of a run of a function.
   * @throws AppError `not_found` for an unknown run; `conflict` when the input of the run, or the handler, is gone.
   */
  async taskOf(runId: string, waiter: Waiter): Promise<RunTask | null> {
    const run = parseRunId(runId);
    if (run === null) return null;
    const open = this.#deliveries.find(run.deliveryId);
    const isSame = open !== null && runIdOf(open.delivery.event.id, run.deliveryId) === runId;
    const found = isSame ? { ...open.head, delivery: open.delivery } : await this.#completed(runId, run, waiter);
    const { path, handler, key, failures, delivery } = found;
    const trigger = this.#triggers.find((each) => each.path === path && each.handler === handler);
    if (trigger === undefined) throw new AppError("conflict", `${handler} of ${path} is not loaded.`);
    const { collection } = trigger;
    if (collection !== USERS && !this.#options.collections.all().some(({ name }) => name === collection))
      throw new AppError("conflict", `There is no collection ${quote(collection)} any more.`);
    const made = this.#attemptOf(trigger, { id: null, failures, key, runId }, delivery);
    if (made === null) throw new AppError("conflict", `The user ${quote(key)}, whom the run is about, is gone.`);
    return made.task;
  }

  /** A run that is over: the log has the event, and the end, which names the handler. @throws AppError as `taskOf`. */
  async #completed(
    runId: string,
    { deliveryId, at }: { deliveryId: number; at: number },
    waiter: Waiter,
  ): Promise<Pick<DeliveryHead, "path" | "handler" | "key" | "failures"> & { delivery: Delivery }> {
    const { events } = this.#options;
    const seq = eventSeqOf({ id: deliveryId });
    const event = events.at(seq);
    if (event === null && seq > 0 && seq <= events.lastSeq())
      throw new AppError("conflict", "The event of the run has left the event log, and with the event the input.");
    const end =
      event !== null && runIdOf(event.id, deliveryId) === runId ? await endOf(events, { runId, at }, waiter) : null;
    if (event === null || end === null)
      throw new AppError("not_found", `There is no run ${quote(runId)} that is over.`);
    const { basis, payload, type, subject } = event;
    const isLong = event.isPartial || (basis?.omitted?.length ?? 0) > 0;
    if (isLong)
      throw new AppError("conflict", "The event log has a part of the record alone, so the input of the run is gone.");
    const hasPrevious = !type.endsWith(".created") && basis !== null;
    const previous = hasPrevious ? JSON.stringify({ ...payload, ...basis.fields }) : null;
    return { ...end, key: subject ?? "", failures: 0, delivery: { event, previous, depth: 1, chain: [] } };
  }

  /** The event of a run; null for an id that is no id of a run of a function, and for an event that nothing has any more. */
  eventOf(runId: string): LoggedEvent | null {
    const run = parseRunId(runId);
    if (run === null) return null;
    const { deliveryId: id } = run;
    const event = this.#deliveries.find(id)?.delivery.event ?? this.#options.events.at(eventSeqOf({ id }));
    return event !== null && runIdOf(event.id, id) === runId ? event : null;
  }

  /** The runs of some events that are not over, or have failed for good, with the events. */
  openRuns(events: readonly LoggedEvent[]): { run: OpenRun; event: LoggedEvent }[] {
    const underWay = new Set(this.dispatcher.underWay());
    const bySeq = new Map(events.map((event) => [event.seq, event]));
    return this.#deliveries.ofEvents([...bySeq.keys()]).flatMap(({ path, handler, ...row }) => {
      const event = bySeq.get(eventSeqOf(row));
      if (event === undefined) return [];
      const [at, name] = [Date.parse(event.timestamp), `${path}:${handler}`];
      const run = { ...row, runId: runIdOf(event.id, row.id), name, at, isUnderWay: underWay.has(row.id) };
      return [{ run, event }];
    });
  }

  /** The runs that have failed for good, oldest first. */
  failed(reader: Reader): Failure[] {
    return this.#deliveries.failed(reader);
  }

  /** How many of some runs wait or are under way, and how many have failed for good. */
  states(reader: Reader, runIds: readonly string[]): { open: number; failed: number } {
    return this.#deliveries.states(
      reader,
      runIds.map((runId) => parseRunId(runId)?.deliveryId ?? -1),
    );
  }

  /** Runs a handler by hand, once, as if the event had just happened. */
  runByHand(trigger: Trigger, record: object, onLog: NonNullable<ScriptTask["onLog"]>): Promise<ScriptOutcome> {
    const { kind, eventType: type } = trigger;
    const now = this.#options.clock.now();
    const json = JSON.stringify(record);
    const key = String(Reflect.get(record, "id"));
    const isUser = type.startsWith("auth.");
    const payload = isUser ? JSON.stringify({ userId: key, role: Reflect.get(record, "role") }) : json;
    const source = isUser ? "auth" : "collections";
    // The event is in no log, so the event has no place.
    const row = { seq: 0, at: now, time: null, type, source, actor: null, owner: null, payload, partial: 0 } as const;
    const previous = kind === "onUpdate" || kind === "onDelete" ? json : null;
    const delivery = { event: new LoggedEvent(row), previous, depth: 1, chain: [] };
    const made = this.#attemptOf(trigger, { id: null, failures: 0, key, runId: newId("run", now) }, delivery);
    if (made === null) throw new AppError("not_found", `There is no user ${quote(key)}.`);
    const run = { ...made.run, policy: linear(0), label: `${made.run.label}, run by hand,` };
    const { outcome, end } = this.attempt(run, { ...made.task, onLog });
    return end.then(() => outcome);
  }

  protected override async prepare(head: DeliveryHead): Promise<Prepared<HandlerRun>> {
    const delivery = this.#deliveries.get(head);
    const trigger = this.#triggers.find(({ path, handler }) => path === head.path && handler === head.handler);
    if (delivery === null || trigger === undefined) return "stays";
    const made = this.#attemptOf(trigger, { ...head, runId: runIdOf(delivery.event.id, head.id) }, delivery);
    return made ?? this.end(head, (tx) => this.#deliveries.remove(tx, head));
  }

  /**
   * The next attempt of a delivery. The user is read now, as the user may have changed since. Null for the event of a
   * deleted user: the handler has no input.
   */
  #attemptOf(
    trigger: Trigger,
    { id, runId, failures, key }: Pick<HandlerRun, "id" | "runId" | "failures"> & { readonly key: string },
    { event: logged, previous, depth, chain }: Delivery,
  ): { run: HandlerRun; task: RunTask } | null {
    const { auth, records, database } = this.#options;
    const { users } = auth;
    const { path, handler, kind, collection, eventType, policy, timeoutMs } = trigger;
    const { id: eventId, type, timestamp, source, actor } = logged;
    // The text was written from a record.
    const before = previous === null ? null : (JSON.parse(previous) as StoredRecord);
    // The log has the changes of a large record, and the delivery the record before the update.
    const payload = logged.isPartial ? { ...before, ...logged.payload } : logged.payload;
    const changed = kind === "onDelete" ? before : payload;
    const record = source === "auth" ? (records.users.find(database.reader, key) ?? users.find(key)) : changed;
    if (record === null) return null;
    const user = this.#options.auth.callers.actor(actor);
    const event: Event = { id: eventId, type, timestamp, source, payload };
    const attempt = { runId, attempt: failures + 1, user, chain };
    const input = { ...attempt, event, record, ...(before !== null && { previous: before }) };
    const code = actingFor(actor, depth, [...chain, `${path}:${handler}`]);
    const principal = {
      ...code,
      cause: { kind: "function", id: runId, name: `${path}:${handler}`, ...logged.origin },
    } as const;
    const run: HandlerRun = {
      id,
      runId,
      failures,
      policy,
      label: `${handler} of ${path}`,
      logFields: { eventId },
      kind: "function",
      payload: { collection, trigger: handler, eventType, filePath: path, eventId, runId },
      actor,
      cause: logged.cause && { ...logged.cause, ...logged.origin },
      since: null,
      // A delivery waits until the file is loaded again.
      errorWithoutFile: null,
      failsAs: { kind: "function", path, record: key },
    };
    return { run, task: { path, handler, timeoutMs, input, principal } };
  }
}

/**
 * The start limiter: while more changes with functions come than 4,000 a second, at most 1,250 runs a second start, so
 * that requests go first. The other runs start later.
 */
class StartLimiter {
  readonly #onNext: () => void;
  #since = 0;
  #arrivals = 0;
  #starts = 0;
  #isBusy = false;
  #timer: Timer | null = null;

  /** @param onNext called when starts are allowed again. */
  constructor(onNext: () => void) {
    this.#onNext = onNext;
  }

  /** A change with functions has arrived. */
  arrived(): void {
    this.#roll();
    this.#arrivals += 1;
    if (this.#arrivals >= busyArrivals) this.#isBusy = true;
  }

  /** Whether another run may start now; the run counts as started then. */
  take(): boolean {
    this.#roll();
    if (this.#isBusy && this.#starts >= busyStarts) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#onNext();
      }, windowMs).unref();
      return false;
    }
    this.#starts += 1;
    return true;
  }

  /** Begins another window when the last window is over. */
  #roll(): void {
    const now = performance.now();
    if (now - this.#since < windowMs) return;
    this.#isBusy = this.#arrivals >= busyArrivals;
    this.#since = now;
    this.#arrivals = 0;
    this.#starts = 0;
  }
}
