/**
 * Functions: handlers that run after an event (spec, "Functions"). The transaction of a change also writes the runs, so
 * each run is made at least once, even if the process ends in between.
 */
import type { FunctionRun } from "@socle/protocol";
import { AppError, type Clock, count, nearest, quote, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Database, Transactor, Waiter } from "../../store/database/index.ts";
import type { AppendedEvent, EventLog, EventRecorder } from "../../store/events/index.ts";
import { Dispatcher, RunLifeCycle, RunLog, type RunSource } from "../runs/index.ts";
import type {
  BrokenScript,
  Lane,
  Script,
  ScriptExports,
  ScriptHost,
  ScriptKind,
  ScriptOutcome,
  ScriptTask,
} from "../script-host/index.ts";
import { lastIdOf, maxPerEvent, parseRunId } from "./delivery-event.ts";
import { DeliveryRuns, type FunctionRunState, type PreparedRun } from "./delivery-runs.ts";
import { Deliveries, type DeliveryHead } from "./delivery-table.ts";
import { hasHooks } from "./hook-files.ts";
import { Hooks, type HooksOptions } from "./hooks.ts";
import { listRuns, type RunFilter } from "./run-list.ts";
import { StartLimiter } from "./start-limiter.ts";
import { hasTriggers, type Trigger, triggersOf } from "./triggers.ts";

/** The most deliveries under way, for each script process. */
const widthPerProcess = 48;
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
  readonly #dispatcher: Dispatcher<DeliveryHead>;
  readonly #limiter = new StartLimiter(() => this.#dispatcher.resume());
  readonly #width: number;
  readonly #runs: DeliveryRuns;
  readonly #runLog: RunLog;
  readonly #lifeCycle: RunLifeCycle<FunctionRunState>;
  #triggers: readonly Trigger[] = [];
  #byType = new Map<string, Trigger[]>();
  /** Runs by hand under way. */
  readonly #byHand = new Set<Promise<unknown>>();

  constructor(options: FunctionsOptions) {
    this.#options = options;
    const { database, logger, host } = options;
    const call = (task: ScriptTask): Promise<ScriptOutcome> => host.run(task);
    this.hooks = new Hooks({ ...options, ...options.hooks });
    this.#deliveries = new Deliveries(database, options.events);
    this.#runs = new DeliveryRuns({ ...options, deliveries: this.#deliveries });
    this.#runLog = new RunLog(database, logger);
    this.#lifeCycle = new RunLifeCycle({ store: this.#runs, log: this.#runLog, logger, call, now: Date.now });
    this.#width = widthPerProcess * options.processes;
    this.#dispatcher = new Dispatcher({
      clock: options.clock,
      now: Date.now,
      logger,
      width: this.#width,
      attempt: (head) => this.#lifeCycle.dispatch(() => this.#prepare(head)),
      mayStart: () => this.#limiter.take(),
      onLook: () => undefined,
    });
  }

  /** Joins the event log as its recorder. Waiting deliveries run after files are loaded. Call `start` once. */
  start(): void {
    this.#dispatcher.start(this.#deliveries.lastId());
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
    checkFunction(script, this.#options.timeoutMs);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    const triggers = scripts.flatMap((script) => triggersOf(script, this.#options.timeoutMs));
    await this.#deliveries.name(triggers);
    const byType = Map.groupBy(triggers, ({ eventType }) => eventType);
    for (const [type, { length }] of byType)
      if (length > maxPerEvent)
        throw new SetupError(`${type} has ${length} functions; at most ${maxPerEvent} are possible`);
    this.#triggers = triggers;
    this.#byType = byType;
    this.#dispatcher.use(this.#sourcesOf(triggers));
    this.hooks.use(scripts, broken);
    this.#warnOfUnknown([...triggers, ...this.hooks.list()]);
    const known = new Set(scripts.map(({ file }) => file.path));
    for (const { path, waiting } of this.#deliveries.waiting()) {
      if (known.has(path)) continue;
      const why = broken.some(({ file }) => file.path === path) ? "does not load" : "is not there any more";
      this.#options.logger.warn(`${count(waiting, "run")} of ${path} wait, because it ${why}`);
    }
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
      this.#dispatcher.written({ id: lastIdOf(appended.event.seq) });
    });
    this.#deliveries.add(tx, appended, triggers);
  }

  beforeTrim(tx: Transactor, first: number, last: number): void {
    this.#deliveries.keepEvents(tx, first, last);
  }

  /** Starts no more runs. Resolves when no run is under way. */
  async stop(): Promise<void> {
    await Promise.all([this.#dispatcher.stop(), ...this.#byHand]);
  }

  /** Whether a run is due or under way. Runs that wait for a later time do not count. */
  get isBusy(): boolean {
    return this.#dispatcher.isBusy || this.#byHand.size > 0;
  }

  /** Resolves when no run is due or under way, and all changes of runs are written. */
  async settled(): Promise<void> {
    await this.#dispatcher.settled();
    await this.#runLog.settled();
  }

  /** The numbers of runs that wait, are under way, or have failed for good. */
  queue(): { waiting: number; running: number; failed: number } {
    const { open, failed } = this.#deliveries.counts();
    const running = Math.min(open, this.#dispatcher.underWay().length);
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
      running: new Set(this.#dispatcher.underWay()),
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
    const head = this.#deliveries.reopen(tx, run.deliveryId, run.at);
    const { path, handler } = head;
    if (!this.#triggers.some((trigger) => trigger.path === path && trigger.handler === handler))
      throw new AppError("bad_request", `${handler} of ${path} is not loaded, so it cannot be run again.`);
    tx.onDurable(() => this.#dispatcher.reopened(head));
    return head;
  }

  /** Runs a handler by hand, once, as if its event had just happened. */
  async runByHand(options: {
    trigger: Trigger;
    record: object;
    onLog: NonNullable<ScriptTask["onLog"]>;
  }): Promise<ScriptOutcome> {
    const { run, task } = this.#runs.prepareByHand(options.trigger, options.record);
    const running = this.#lifeCycle.attempt(run, { ...task, onLog: options.onLog }).end;
    this.#byHand.add(running);
    const { outcome } = await running.finally(() => this.#byHand.delete(running));
    return outcome;
  }

  /** The next attempt of a delivery. */
  async #prepare(head: DeliveryHead): Promise<PreparedRun | "over" | "stays"> {
    const delivery = this.#deliveries.get(head);
    const trigger = this.#triggers.find(({ path, handler }) => path === head.path && handler === head.handler);
    if (delivery === null || trigger === undefined) return "stays";
    return this.#runs.prepare(delivery, trigger) ?? this.#drop(head);
  }

  /** The user of the delivery's event has been deleted, so the handler has no input. */
  async #drop({ id }: DeliveryHead): Promise<"over" | "stays"> {
    const isWritten = await this.#runLog.write((tx) => this.#deliveries.remove(tx, id));
    return isWritten ? "over" : "stays";
  }

  #sourcesOf(triggers: readonly Trigger[]): RunSource<DeliveryHead>[] {
    const width = Math.max(1, Math.floor(this.#width * shareOfFile));
    return [...Map.groupBy(triggers, ({ path }) => path)].map(([path, group]) =>
      this.#deliveries.sourceOf({ path, handlers: group.map(({ handler }) => `${path}:${handler}`), width }),
    );
  }
}

/** Checks the exports of a file of functions. @throws Error that names the fault. */
export function checkFunction(script: Script, timeoutMs: number): void {
  triggersOf(script, timeoutMs);
}
