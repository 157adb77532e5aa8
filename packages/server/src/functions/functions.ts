/**
 * Functions: handlers that run after an event (spec, "Functions"). Their runs are written in the transaction of the change,
 * so each is made at least once, whatever ends in between.
 */
import type { FunctionRun } from "@socle/protocol";
import type { Auth } from "../auth/index.ts";
import type { Database, Transactor, Waiter } from "../database/index.ts";
import type { AppendedEvent, EventLog, EventRecorder } from "../events/index.ts";
import { AppError, type Awaitable, type Clock, count, nearest, quote, SetupError } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { RunLifeCycle, RunLog } from "../runs/index.ts";
import type {
  BrokenScript,
  Lane,
  Script,
  ScriptExports,
  ScriptKind,
  ScriptOutcome,
  ScriptTask,
} from "../script-host/index.ts";
import { Deliveries } from "./deliveries.ts";
import { lastIdOf, maxPerEvent, parseRunId } from "./delivery-id.ts";
import { DeliveryRuns, type FunctionRunState } from "./delivery-runs.ts";
import type { DeliveryHead } from "./delivery-table.ts";
import { Dispatcher, type Verdict } from "./dispatcher.ts";
import { hooksIn } from "./hook-files.ts";
import { Hooks, type HooksOptions } from "./hooks.ts";
import { listRuns, type RunFilter } from "./run-list.ts";
import { hasTriggers, type Trigger, triggersOf } from "./triggers.ts";

/** Deliveries under way at a time, for each script process. */
const widthPerProcess = 48;

export interface FunctionsOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly auth: Auth;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  readonly processes: number;
  readonly collectionNames: () => readonly string[];
  /** Calls a handler in a script process. */
  readonly run: (task: ScriptTask) => Promise<ScriptOutcome>;
  readonly hooks: Pick<HooksOptions, "timeoutMs" | "maxBytes" | "call">;
}

export class Functions implements ScriptKind, EventRecorder {
  readonly folder = "functions";
  readonly firstLane = "runs";
  readonly hooks: Hooks;
  readonly #options: FunctionsOptions;
  readonly #deliveries: Deliveries;
  readonly #dispatcher: Dispatcher;
  readonly #runs: DeliveryRuns;
  readonly #runLog: RunLog;
  readonly #lifeCycle: RunLifeCycle<FunctionRunState>;
  #triggers: readonly Trigger[] = [];
  #byType = new Map<string, Trigger[]>();
  /** Runs by hand that are under way. */
  readonly #byHand = new Set<Promise<unknown>>();

  constructor(options: FunctionsOptions) {
    this.#options = options;
    const { database, logger, run: call } = options;
    this.hooks = new Hooks({ ...options, ...options.hooks });
    this.#deliveries = new Deliveries(database, options.events);
    this.#runs = new DeliveryRuns({ ...options, deliveries: this.#deliveries });
    this.#runLog = new RunLog(database, logger);
    this.#lifeCycle = new RunLifeCycle({ store: this.#runs, log: this.#runLog, logger, call, now: Date.now });
    this.#dispatcher = new Dispatcher({
      deliveries: this.#deliveries,
      clock: options.clock,
      logger,
      width: widthPerProcess * options.processes,
      attempt: (head) => this.#attempt(head),
    });
  }

  /** Joins the event log as its recorder. Deliveries that wait are run once files are loaded. To be called once. */
  async start(): Promise<void> {
    this.#dispatcher.written(await this.#deliveries.lastId());
    this.#options.events.recordWith(this);
  }

  /** Every trigger in force, by file. */
  triggers(): readonly Trigger[] {
    return this.#triggers;
  }

  lanesOf(exports: ScriptExports): readonly Lane[] {
    const lanes: Lane[] = hooksIn(exports).length === 0 ? [] : ["hooks"];
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
    this.#dispatcher.use(handlersByPath(triggers));
    this.hooks.use(scripts, broken);
    this.#warnOfUnknown([...triggers, ...this.hooks.list()]);
    const known = new Set(scripts.map(({ file }) => file.path));
    for (const { path, waiting } of await this.#deliveries.waiting()) {
      if (known.has(path)) continue;
      const why = broken.some(({ file }) => file.path === path) ? "does not load" : "is not there any more";
      this.#options.logger.warn(`${count(waiting, "run")} of ${path} wait, because it ${why}`);
    }
  }

  /** The functions of a folder that is misspelt would never run. */
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

  record(tx: Transactor, appended: AppendedEvent): Awaitable<unknown> {
    const triggers = this.#byType.get(appended.event.type) ?? [];
    tx.onDurable(() => this.#dispatcher.written(lastIdOf(appended.event.seq)));
    return this.#deliveries.add(tx, appended, triggers);
  }

  beforeTrim(tx: Transactor, first: number, last: number): Promise<void> {
    return this.#deliveries.keepEvents(tx, first, last);
  }

  /** Starts no more runs. Resolves when none is under way. */
  async stop(): Promise<void> {
    await Promise.all([this.#dispatcher.stop(), ...this.#byHand]);
  }

  /** Whether a run is due or under way. Runs that wait for a later time do not count. */
  get isBusy(): boolean {
    return this.#dispatcher.isBusy || this.#byHand.size > 0;
  }

  /** Resolves when no run is due or under way, and everything about runs is written. */
  async settled(): Promise<void> {
    await this.#dispatcher.settled();
    await this.#runLog.settled();
  }

  /** The numbers of runs that wait, are under way, and have failed for good. */
  async queue(): Promise<{ waiting: number; running: number; failed: number }> {
    const { open, failed } = await this.#deliveries.counts();
    const running = Math.min(open, this.#dispatcher.running().size);
    return { waiting: open - running, running, failed };
  }

  /** The time of the event that has waited longest for a run, in milliseconds since 1970; null when none waits. */
  oldest(): Promise<number | null> {
    return this.#deliveries.oldest();
  }

  /** Runs that are not over, then those that are, as long as the event log has them; each newest first. */
  runs(
    filter: RunFilter,
    page: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: FunctionRun[]; total: number }> {
    return listRuns({
      database: this.#options.database,
      deliveries: this.#deliveries,
      events: this.#options.events,
      running: this.#dispatcher.running(),
      filter,
      page,
    });
  }

  /**
   * Makes a run that has failed for good again, with all its attempts.
   * @throws AppError `not_found`, or `bad_request` for one that is not over.
   */
  async retry(tx: Transactor, runId: string): Promise<{ path: string; handler: string }> {
    const run = parseRunId(runId);
    if (run === null) throw new AppError("not_found", `There is no run ${quote(runId)}.`);
    const head = await this.#deliveries.reopen(tx, run.deliveryId, run.at);
    const { path, handler } = head;
    if (!this.#triggers.some((trigger) => trigger.path === path && trigger.handler === handler))
      throw new AppError("bad_request", `${handler} of ${path} is not loaded, so it cannot be run again.`);
    tx.onDurable(() => this.#dispatcher.reopened(head));
    return head;
  }

  /** Runs one handler by hand, once, as if its event had just happened. */
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

  /** Makes the next attempt of a delivery. Never rejects. */
  async #attempt(head: DeliveryHead): Promise<Verdict> {
    try {
      const delivery = await this.#deliveries.get(head);
      const trigger = this.#triggers.find(({ path, handler }) => path === head.path && handler === head.handler);
      if (delivery === null || trigger === undefined) return "stays";
      const prepared = await this.#runs.prepare(delivery, trigger);
      if (prepared === null) return await this.#drop(head);
      const { next } = await this.#lifeCycle.attempt(prepared.run, prepared.task).end;
      return typeof next === "string" ? next : { again: { ...head, ...next } };
    } catch (error) {
      this.#options.logger.error(`${head.handler} of ${head.path} could not be run; it waits for the next start`, {
        error,
      });
      return "stays";
    }
  }

  /** The user whom the delivery is about has been deleted, so there is nothing to run its handler with. */
  async #drop({ id }: DeliveryHead): Promise<Verdict> {
    const isWritten = await this.#runLog.write(String(id), (tx) => this.#deliveries.remove(tx, id));
    return isWritten ? "over" : "stays";
  }
}

function handlersByPath(triggers: readonly Trigger[]): Map<string, string[]> {
  const groups = Map.groupBy(triggers, ({ path }) => path);
  return new Map([...groups].map(([path, group]) => [path, group.map(({ handler }) => `${path}:${handler}`)]));
}

/** Checks the exports of a file of functions. @throws Error that names the fault. */
export function checkFunction(script: Script, timeoutMs: number): void {
  triggersOf(script, timeoutMs);
}
