import type { Event, FunctionRun, StoredRecord } from "@socle/protocol";
import type { Auth } from "../auth/index.ts";
import type { Database, Transactor, Waiter } from "../database/index.ts";
import { type AppendedEvent, type EventLog, type EventRecorder, eventId, Ledger } from "../events/index.ts";
import {
  AppError,
  type Awaitable,
  actingFor,
  type Clock,
  count,
  nearest,
  newId,
  quote,
  SetupError,
  type System,
  toTimestamp,
} from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import {
  type RunInput,
  retryPauseMs,
  type Script,
  type ScriptError,
  type ScriptKind,
  type ScriptOutcome,
  type ScriptTask,
} from "../script-host/index.ts";
import { Deliveries, type Delivery, type DeliveryHead, lastIdOf, maxPerEvent } from "./deliveries.ts";
import { Dispatcher, type Verdict } from "./dispatcher.ts";
import { listRuns, parseRunId, type RunFilter, runIdOf } from "./runs.ts";
import { type Trigger, triggersOf } from "./triggers.ts";

/** Deliveries that run at a time, in each process. */
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
  /** Runs a handler in a process for the user's code. */
  readonly run: (task: ScriptTask) => Promise<ScriptOutcome>;
}

/**
 * Functions: handlers that run after an event (spec, "Functions"). What is to be run is written in the transaction of
 * the change, so it is run at least once, whatever ends in between.
 */
export class Functions implements ScriptKind, EventRecorder {
  readonly folder = "functions";
  readonly #options: FunctionsOptions;
  readonly #deliveries: Deliveries;
  readonly #dispatcher: Dispatcher;
  readonly #ledger: Ledger;
  #triggers: readonly Trigger[] = [];
  #byType = new Map<string, Trigger[]>();
  readonly #byHand = new Set<Promise<ScriptOutcome>>();

  constructor(options: FunctionsOptions) {
    this.#options = options;
    this.#deliveries = new Deliveries(options.database, options.events);
    this.#ledger = new Ledger(options.database, options.logger);
    this.#dispatcher = new Dispatcher({
      deliveries: this.#deliveries,
      logger: options.logger,
      width: widthPerProcess * options.processes,
      attempt: (head) => this.#attempt(head),
    });
  }

  /** Takes part in the event log. What waits is run once files are loaded. To be called once. */
  async start(): Promise<void> {
    this.#dispatcher.written(await this.#deliveries.lastId());
    this.#options.events.recordWith(this);
  }

  /** Every trigger in force, by file. */
  triggers(): readonly Trigger[] {
    return this.#triggers;
  }

  check(script: Script): void {
    triggersOf(script, this.#options.timeoutMs);
  }

  async use(scripts: readonly Script[], broken: readonly string[]): Promise<void> {
    const triggers = scripts.flatMap((script) => triggersOf(script, this.#options.timeoutMs));
    await this.#deliveries.name(triggers);
    const byType = Map.groupBy(triggers, ({ eventType }) => eventType);
    for (const [type, { length }] of byType)
      if (length > maxPerEvent)
        throw new SetupError(`${type} has ${length} functions; at most ${maxPerEvent} are possible`);
    this.#triggers = triggers;
    this.#byType = byType;
    this.#dispatcher.use(handlersByPath(triggers));
    this.#warnOfUnknown(triggers);
    const known = new Set(scripts.map(({ file }) => file.path));
    for (const { path, waiting } of await this.#deliveries.waiting()) {
      if (known.has(path)) continue;
      const why = broken.includes(path) ? "does not load" : "is not there any more";
      this.#options.logger.warn(`${count(waiting, "run")} of ${path} wait, because it ${why}`);
    }
  }

  /** A folder that is misspelt would wait for ever. */
  #warnOfUnknown(triggers: readonly Trigger[]): void {
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
    tx.afterFlush(() => this.#dispatcher.written(lastIdOf(appended.event.seq)));
    return this.#deliveries.add(tx, appended, triggers);
  }

  beforeTrim(tx: Transactor, first: number, last: number): Promise<void> {
    return this.#deliveries.keepEvents(tx, first, last);
  }

  /** Starts no more runs. Resolves when none is under way. */
  async stop(): Promise<void> {
    await Promise.all([this.#dispatcher.stop(), ...this.#byHand]);
  }

  /** Resolves when nothing is left to run now. */
  async settled(): Promise<void> {
    await this.#dispatcher.settled();
    await this.#ledger.settled();
  }

  /** How many runs wait, are under way, and have failed for good. */
  async queue(): Promise<{ waiting: number; running: number; failed: number }> {
    const { open, failed } = await this.#deliveries.counts();
    const running = Math.min(open, this.#dispatcher.running().size);
    return { waiting: open - running, running, failed };
  }

  /** When the event happened that has waited longest for a run; null when none waits. */
  oldest(): Promise<number | null> {
    return this.#deliveries.oldest();
  }

  /** Runs that are not over, then those that are, as long as the log has them; each newest first. */
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
   * Has a run that has failed for good made again, with all its attempts.
   * @throws AppError `not_found`, or `bad_request` for one that is not over.
   */
  async retry(tx: Transactor, runId: string): Promise<{ path: string; handler: string }> {
    const run = parseRunId(runId);
    if (run === null) throw new AppError("not_found", `There is no run ${quote(runId)}.`);
    const head = await this.#deliveries.reopen(tx, run.deliveryId, run.at);
    const { path, handler } = head;
    if (!this.#triggers.some((trigger) => trigger.path === path && trigger.handler === handler))
      throw new AppError("bad_request", `${handler} of ${path} is not loaded, so it cannot be run again.`);
    tx.afterFlush(() => this.#dispatcher.reopened(head));
    return head;
  }

  /** Runs one handler by hand, as if its event had just happened. It is not tried again. */
  async runByHand(options: {
    trigger: Trigger;
    record: object;
    onLog: NonNullable<ScriptTask["onLog"]>;
  }): Promise<ScriptOutcome> {
    const { trigger, record, onLog } = options;
    const now = this.#options.clock.now();
    const runId = newId("run", now);
    const isUser = trigger.collection === "users";
    const source = isUser ? "auth" : "collections";
    const payload = isUser ? { userId: Reflect.get(record, "id"), role: Reflect.get(record, "role") } : record;
    // It is in no log, so it has no place in it.
    const event = {
      id: eventId(now, 0),
      type: trigger.eventType,
      timestamp: toTimestamp(now),
      source,
      payload,
    };
    const previous = trigger.handler === "onUpdate" || trigger.handler === "onDelete" ? { previous: record } : {};
    const input: RunInput = { runId, attempt: 1, user: null, event, record, ...previous };
    const run: RunOfTrigger = { trigger, runId, eventId: event.id, actor: null };
    this.#announce(run, "started");
    const startedAt = performance.now();
    const running = this.#options.run({ ...taskOf(trigger, input, actingFor(null, 1)), onLog });
    this.#byHand.add(running);
    const outcome = await running.finally(() => this.#byHand.delete(running));
    if (outcome.status === "failed")
      this.#options.logger.error(
        `${trigger.handler} of ${trigger.path}, run by hand, failed: ${outcome.error.message}`,
        {
          runId,
          stack: outcome.error.stack,
        },
      );
    if (outcome.status === "completed" || outcome.status === "failed")
      this.#announce(run, outcome.status, resultOf(outcome, startedAt));
    return outcome;
  }

  async #attempt(head: DeliveryHead): Promise<Verdict> {
    try {
      const delivery = await this.#deliveries.get(head);
      const trigger = this.#triggers.find(({ path, handler }) => path === head.path && handler === head.handler);
      return delivery === null || trigger === undefined ? "stays" : await this.#deliver(delivery, trigger);
    } catch (error) {
      this.#options.logger.error(`${head.handler} of ${head.path} could not be run; it waits for the next start`, {
        error,
      });
      return "stays";
    }
  }

  async #deliver(delivery: Delivery, trigger: Trigger): Promise<Verdict> {
    const { id, failures, event } = delivery;
    const runId = runIdOf(event.id, id);
    const input = await this.#inputOf(delivery, runId);
    if (input === null) {
      const isWritten = await this.#ledger.write((tx) => this.#deliveries.remove(tx, id));
      return isWritten ? "over" : "stays";
    }
    const run: RunOfTrigger = { trigger, runId, eventId: event.id, actor: event.actor };
    if (failures === 0) this.#announce(run, "started");
    const startedAt = performance.now();
    const outcome = await this.#options.run({
      ...taskOf(trigger, input, actingFor(event.actor, delivery.depth)),
      onStray: this.#strayListener(run),
    });
    if (outcome.status === "stopped" || outcome.status === "gone") return "stays";
    if (outcome.status === "failed") return this.#failed(delivery, run, outcome.error, startedAt);
    const isWritten = await this.#ledger.write(async (tx) => {
      await this.#append(tx, run, "completed", resultOf(outcome, startedAt));
      await this.#deliveries.remove(tx, id);
    });
    return isWritten ? "over" : "stays";
  }

  /** An attempt has failed: another follows after a pause, or the run is over. */
  async #failed(delivery: Delivery, run: RunOfTrigger, error: ScriptError, startedAt: number): Promise<Verdict> {
    const { trigger, runId, eventId } = run;
    const failures = delivery.failures + 1;
    const isLast = failures > trigger.retries;
    const pauseMs = retryPauseMs(failures);
    const next = isLast ? "" : `; tried again in ${pauseMs / 1_000} s`;
    const { message, stack } = error;
    this.#options.logger.error(`${trigger.handler} of ${trigger.path} failed: ${message}${next}`, {
      runId,
      eventId,
      attempt: failures,
      stack,
    });
    if (isLast) {
      const isWritten = await this.#ledger.write(async (tx) => {
        // The time of the one tells which event the other is about.
        const now = this.#options.clock.now();
        await this.#append(tx, run, "failed", resultOf({ status: "failed", error }, startedAt), now);
        await this.#deliveries.fail(tx, delivery, now, message);
      });
      return isWritten ? "over" : "stays";
    }
    const again = { ...headOf(delivery), failures, notBefore: Date.now() + pauseMs };
    return (await this.#ledger.write((tx) => this.#deliveries.retry(tx, again))) ? { again } : "stays";
  }

  /** It is kept for long: made here, it holds on to the run alone, not to what the run was for. */
  #strayListener(run: RunOfTrigger): (error: ScriptError) => void {
    return (error) => this.#strayed(run, error);
  }

  /** The run had completed, and then threw. */
  #strayed(run: RunOfTrigger, error: ScriptError): void {
    const { trigger, runId, eventId } = run;
    this.#options.logger.error(`${trigger.handler} of ${trigger.path} failed: ${error.message}`, {
      runId,
      eventId,
      stack: error.stack,
    });
    this.#announce(run, "failed", { error: error.message });
  }

  /**
   * What the handler is given. What is read for it is read now: a user may have changed since. Null when it is about a
   * user who is gone.
   */
  async #inputOf(delivery: Delivery, runId: string): Promise<RunInput | null> {
    const { failures, previous, event: logged, subject } = delivery;
    const { auth } = this.#options;
    const { id, type, timestamp, source, actor } = logged;
    // It was written from a record.
    const before = previous === null ? null : (JSON.parse(previous) as StoredRecord);
    // Of the update of a large record, the log holds what changed, and the delivery what was there before.
    const payload = logged.isPartial ? { ...before, ...logged.payload } : logged.payload;
    const event: Event = { id, type, timestamp, source, payload };
    const user = actor === null ? null : await auth.users.find(actor);
    const about = delivery.handler === "onDelete" ? before : payload;
    const record = source === "auth" ? await auth.users.find(subject) : about;
    if (record === null) return null;
    return { runId, attempt: failures + 1, user, event, record, ...(before === null ? {} : { previous: before }) };
  }

  #announce(run: RunOfTrigger, step: "started" | "completed" | "failed", result: object = {}): void {
    void this.#ledger.write((tx) => this.#append(tx, run, step, result));
  }

  /** `function.started`, `.completed`, `.failed` (spec, "Events"). */
  #append(
    tx: Transactor,
    run: RunOfTrigger,
    step: "started" | "completed" | "failed",
    result: object,
    at: number = this.#options.clock.now(),
  ): Awaitable<unknown> {
    const { trigger, runId, eventId, actor } = run;
    const { collection, handler, eventType, path } = trigger;
    const payload = { collection, trigger: handler, eventType, filePath: path, eventId, runId, ...result };
    const principal = actingFor(actor, 0);
    return this.#options.events.append(tx, { type: `function.${step}`, source: "functions", payload, principal }, at);
  }
}

/** One run of a function: all its attempts. */
interface RunOfTrigger {
  readonly trigger: Trigger;
  readonly runId: string;
  readonly eventId: string;
  readonly actor: string | null;
}

function taskOf({ path, handler, timeoutMs }: Trigger, input: RunInput, principal: System): ScriptTask {
  return { path, handler, timeoutMs, input, principal };
}

function handlersByPath(triggers: readonly Trigger[]): Map<string, string[]> {
  const groups = Map.groupBy(triggers, ({ path }) => path);
  return new Map([...groups].map(([path, group]) => [path, group.map(({ handler }) => `${path}:${handler}`)]));
}

function resultOf(outcome: ScriptOutcome, startedAt: number): { durationMs: number; error?: string } {
  const durationMs = Math.round(performance.now() - startedAt);
  return outcome.status === "failed" ? { durationMs, error: outcome.error.message } : { durationMs };
}

function headOf({ id, path, handler, subject, failures, notBefore }: Delivery): DeliveryHead {
  return { id, path, handler, subject, failures, notBefore };
}
