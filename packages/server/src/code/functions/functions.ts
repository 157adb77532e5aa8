/**
 * Functions: handlers that run after an event (spec, "Functions"). The transaction of a change also writes the runs, so
 * each run is made at least once, even if the process ends in between.
 */
import type { Event, FunctionRun, StoredRecord } from "@socle/protocol";
import {
  AppError,
  actingFor,
  type Clock,
  nearest,
  newId,
  quote,
  SetupError,
  toTimestamp,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Database, Transactor, Waiter } from "../../store/database/index.ts";
import { type AppendedEvent, type EventLog, type EventRecorder, eventId } from "../../store/events/index.ts";
import {
  type HandlerRun,
  linear,
  type Prepared,
  RunMachine,
  type RunSource,
  type RunTask,
  widthPerProcess,
} from "../runs/index.ts";
import type {
  BrokenScript,
  Lane,
  RunInput,
  Script,
  ScriptExports,
  ScriptHost,
  ScriptKind,
  ScriptOutcome,
  ScriptTask,
} from "../script-host/index.ts";
import { lastIdOf, maxPerEvent, parseRunId, runIdOf } from "./delivery-event.ts";
import { Deliveries, type Delivery, type DeliveryHead } from "./delivery-table.ts";
import { hasHooks } from "./hook-files.ts";
import { Hooks, type HooksOptions } from "./hooks.ts";
import { listRuns, type RunFilter } from "./run-list.ts";
import { StartLimiter } from "./start-limiter.ts";
import { hasTriggers, type Trigger, triggersOf } from "./triggers.ts";

/** The share of the width that a single file may take, so that a slow file leaves room for other files. */
const shareOfFile = 2 / 3;

export interface FunctionsOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly auth: Auth;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  readonly processes: number;
  readonly collectionNames: () => readonly string[];
  readonly host: ScriptHost;
  readonly hooks: Pick<HooksOptions, "timeoutMs" | "maxBytes">;
}

export class Functions implements ScriptKind, EventRecorder {
  readonly folder = "functions";
  readonly firstLane = "runs";
  readonly hooks: Hooks;
  readonly #options: FunctionsOptions;
  readonly #deliveries: Deliveries;
  readonly #limiter = new StartLimiter(() => this.#machine.dispatcher.resume());
  readonly #machine: RunMachine<DeliveryHead, HandlerRun>;
  #triggers: readonly Trigger[] = [];
  #byType = new Map<string, Trigger[]>();

  constructor(options: FunctionsOptions) {
    this.#options = options;
    this.hooks = new Hooks({ ...options, ...options.hooks });
    this.#deliveries = new Deliveries(options.database, options.events);
    this.#machine = new RunMachine({
      ...options,
      now: Date.now,
      table: this.#deliveries,
      prepare: (head) => this.#prepare(head),
      mayStart: () => this.#limiter.take(),
    });
  }

  /** Joins the event log as its recorder. Waiting deliveries run after files are loaded. Call `start` once. */
  start(): void {
    this.#machine.dispatcher.start(this.#deliveries.lastId());
    this.#options.events.recordWith(this);
  }

  /** Every trigger in force, by file. */
  triggers(): readonly Trigger[] {
    return this.#triggers;
  }

  lanesOf(exports: ScriptExports): readonly Lane[] {
    const lanes: Lane[] = hasHooks(exports) ? ["hooks"] : [];
    return hasTriggers(exports) ? ["runs", ...lanes] : lanes;
  }

  check(script: Script): void {
    triggersOf(script, this.#options.timeoutMs);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    const triggers = scripts.flatMap((script) => triggersOf(script, this.#options.timeoutMs));
    await this.#deliveries.register(triggers);
    const byType = Map.groupBy(triggers, ({ eventType }) => eventType);
    for (const [type, { length }] of byType)
      if (length > maxPerEvent)
        throw new SetupError(`${type} has ${length} functions; at most ${maxPerEvent} are possible`);
    this.#triggers = triggers;
    this.#byType = byType;
    this.#machine.dispatcher.use(this.#sourcesOf(triggers));
    this.hooks.use(scripts, broken);
    this.#warnOfUnknown([...triggers, ...this.hooks.list()]);
    const known = new Set(scripts.map(({ file }) => file.path));
    this.#machine.warnOfWaiting(known, broken, "is not there any more");
  }

  /** Warns of folders with a misspelt name, because their functions would never run. */
  #warnOfUnknown(triggers: readonly { path: string; collection: string }[]): void {
    const names = [...this.#options.collectionNames(), "users"];
    for (const { path, collection } of triggers) {
      if (names.includes(collection)) continue;
      const near = nearest(collection, names);
      const advice = near === null ? "" : `; did you mean functions/${near}/?`;
      this.#options.logger.warn(`${path}: there is no collection ${quote(collection)}, so it never runs${advice}`);
    }
  }

  wants(type: string): boolean {
    return this.#byType.has(type);
  }

  record(tx: Transactor, appended: AppendedEvent): void {
    const triggers = this.#byType.get(appended.event.type) ?? [];
    tx.onDurable(() => {
      this.#limiter.arrived();
      this.#machine.dispatcher.written({ id: lastIdOf(appended.event.seq) });
    });
    this.#deliveries.add(tx, appended, triggers);
  }

  beforeTrim(tx: Transactor, first: number, last: number): void {
    this.#deliveries.keepEvents(tx, first, last);
  }

  /** Starts no more runs. Resolves when no run is under way. */
  stop(): Promise<void> {
    return this.#machine.stop();
  }

  /** Whether a run is due or under way. Runs that wait for a later time do not count. */
  get isBusy(): boolean {
    return this.#machine.isBusy;
  }

  /** Resolves when no run is due or under way, and all changes of runs are written. */
  settled(): Promise<void> {
    return this.#machine.settled();
  }

  /** The numbers of runs that wait, are under way, or have failed for good. */
  queue(): { waiting: number; running: number; failed: number } {
    const { open, failed } = this.#deliveries.counts();
    const running = Math.min(open, this.#machine.dispatcher.underWay().length);
    return { waiting: open - running, running, failed };
  }

  /** The time of the oldest event that waits for a run, in milliseconds since 1970; null when no run waits. */
  oldest(): number | null {
    return this.#deliveries.oldest();
  }

  /** The unfinished runs, then the finished runs whose ends the event log still holds; each group newest first. */
  runs(
    filter: RunFilter,
    page: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: FunctionRun[]; total: number }> {
    return listRuns({
      database: this.#options.database,
      deliveries: this.#deliveries,
      events: this.#options.events,
      running: new Set(this.#machine.dispatcher.underWay()),
      filter,
      page,
    });
  }

  /**
   * Repeats a run that has failed for good, with all its attempts.
   * @throws AppError `not_found`, or `bad_request` for a run that is not over.
   */
  retry(tx: Transactor, runId: string): { path: string; handler: string } {
    const run = parseRunId(runId);
    if (run === null) throw new AppError("not_found", `There is no run ${quote(runId)}.`);
    const head = this.#deliveries.retry(tx, run.deliveryId, run.at);
    const { path, handler } = head;
    if (!this.#triggers.some((trigger) => trigger.path === path && trigger.handler === handler))
      throw new AppError("bad_request", `${handler} of ${path} is not loaded, so it cannot be run again.`);
    tx.onDurable(() => this.#machine.dispatcher.reopened(head));
    return head;
  }

  /** Runs a handler by hand, once, as if its event had just happened. */
  runByHand(options: {
    trigger: Trigger;
    record: object;
    onLog: NonNullable<ScriptTask["onLog"]>;
  }): Promise<ScriptOutcome> {
    const { trigger, record, onLog } = options;
    const now = this.#options.clock.now();
    const runId = newId("run", now);
    const isUser = trigger.collection === "users";
    const event = {
      // The event is in no log, so the event has no place.
      id: eventId(now, 0),
      type: trigger.eventType,
      timestamp: toTimestamp(now),
      source: isUser ? "auth" : "collections",
      payload: isUser ? { userId: Reflect.get(record, "id"), role: Reflect.get(record, "role") } : record,
    };
    const hasPrevious = trigger.handler === "onUpdate" || trigger.handler === "onDelete";
    const input: RunInput = {
      runId,
      attempt: 1,
      user: null,
      event,
      record,
      ...(hasPrevious && { previous: record }),
    };
    const made = runOf(trigger, { id: null, runId, failures: 0, eventId: event.id, actor: null });
    const run = { ...made, policy: linear(0), label: `${made.label}, run by hand,` };
    const task = taskOf(trigger, input, { actor: null, depth: 1, chain: [] });
    return this.#machine.runByHand(run, { ...task, onLog }).outcome;
  }

  /** The next attempt of a delivery. */
  async #prepare(head: DeliveryHead): Promise<Prepared<HandlerRun>> {
    const { id, failures } = head;
    const delivery = this.#deliveries.get(head);
    const trigger = this.#triggers.find(({ path, handler }) => path === head.path && handler === head.handler);
    if (delivery === null || trigger === undefined) return "stays";
    const { event, depth, chain } = delivery;
    const { actor } = event;
    const runId = runIdOf(event.id, id);
    const input = this.#inputOf(head, delivery, runId);
    if (input !== null) {
      const run = runOf(trigger, { id, runId, failures, eventId: event.id, actor });
      return { run, task: taskOf(trigger, input, { actor, depth, chain }) };
    }
    // The user whom the event is about has been deleted, so the handler has no input.
    return (await this.#machine.write((tx) => this.#deliveries.remove(tx, head))) ? "over" : "stays";
  }

  /**
   * The input of a handler. The user is read now, as the user may have changed since. Null for the event of a user who
   * has been deleted.
   */
  #inputOf({ failures, handler, key }: DeliveryHead, delivery: Delivery, runId: string): RunInput | null {
    const { users } = this.#options.auth;
    const { previous, chain, event: logged } = delivery;
    const { id, type, timestamp, source, actor } = logged;
    // The text was written from a record.
    const before = previous === null ? null : (JSON.parse(previous) as StoredRecord);
    // The log has the changes of a large record, and the delivery the record before the update.
    const payload = logged.isPartial ? { ...before, ...logged.payload } : logged.payload;
    const event: Event = { id, type, timestamp, source, payload };
    const user = actor === null ? null : users.find(actor);
    const changed = handler === "onDelete" ? before : payload;
    const record = source === "auth" ? users.find(key) : changed;
    if (record === null) return null;
    return { runId, attempt: failures + 1, user, chain, event, record, ...(before !== null && { previous: before }) };
  }

  #sourcesOf(triggers: readonly Trigger[]): RunSource<DeliveryHead>[] {
    const width = Math.max(1, Math.floor(widthPerProcess * this.#options.processes * shareOfFile));
    return [...Map.groupBy(triggers, ({ path }) => path)].map(([path, group]) =>
      this.#deliveries.sourceOf({ path, handlers: group.map(({ handler }) => `${path}:${handler}`), width }),
    );
  }
}

function runOf(
  { path, handler, collection, eventType, policy }: Trigger,
  run: Pick<HandlerRun, "id" | "runId" | "failures" | "actor"> & { readonly eventId: string },
): HandlerRun {
  const { id, runId, failures, actor, eventId } = run;
  return {
    id,
    runId,
    failures,
    policy,
    label: `${handler} of ${path}`,
    logFields: { eventId },
    kind: "function",
    payload: { collection, trigger: handler, eventType, filePath: path, eventId, runId },
    actor,
    since: null,
    // A delivery waits until its file is loaded again.
    errorWithoutFile: null,
  };
}

function taskOf(
  { path, handler, timeoutMs }: Trigger,
  input: RunInput,
  { actor, depth, chain }: Pick<Delivery, "depth" | "chain"> & { readonly actor: string | null },
): RunTask {
  return { path, handler, timeoutMs, input, principal: actingFor(actor, depth, [...chain, `${path}:${handler}`]) };
}
