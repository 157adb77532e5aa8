/** The runs of functions: how the states of a delivery are written and announced, and the input of its handler. */
import type { Event, StoredRecord } from "@socle/protocol";
import type { Auth } from "../auth/index.ts";
import type { Transactor } from "../database/index.ts";
import { type EventLog, eventId } from "../events/index.ts";
import { type Awaitable, actingFor, type Clock, newId, toTimestamp } from "../kernel/index.ts";
import { linear, type Postponement, type Run, type RunStore, type RunTask } from "../runs/index.ts";
import type { RunInput } from "../script-host/index.ts";
import type { Deliveries, Delivery } from "./deliveries.ts";
import { runIdOf } from "./delivery-id.ts";
import type { DeliveryHead } from "./delivery-table.ts";
import type { Trigger } from "./triggers.ts";

/** A run of a function. */
export interface FunctionRunState extends Run {
  readonly trigger: Trigger;
  /** Null for a run by hand, which is in no table. */
  readonly head: DeliveryHead | null;
  readonly eventId: string;
  /** The user who has caused the event, or null. */
  readonly actor: string | null;
}

/** A run with the task of its next attempt. */
export interface PreparedRun {
  readonly run: FunctionRunState;
  readonly task: RunTask;
}

export class DeliveryRuns implements RunStore<FunctionRunState> {
  readonly #deliveries: Deliveries;
  readonly #events: EventLog;
  readonly #auth: Auth;
  readonly #clock: Clock;

  constructor(options: { deliveries: Deliveries; events: EventLog; auth: Auth; clock: Clock }) {
    this.#deliveries = options.deliveries;
    this.#events = options.events;
    this.#auth = options.auth;
    this.#clock = options.clock;
  }

  /** The run of a delivery; null when it is about a user who has been deleted. */
  async prepare(delivery: Delivery, trigger: Trigger): Promise<PreparedRun | null> {
    const { event, depth, chain, failures } = delivery;
    const runId = runIdOf(event.id, delivery.id);
    const input = await this.#inputOf(delivery, runId);
    if (input === null) return null;
    const { id, path, handler, subject, notBefore } = delivery;
    const run: FunctionRunState = {
      runId,
      failures,
      policy: linear(trigger.retries),
      label: `${trigger.handler} of ${trigger.path}`,
      logFields: { eventId: event.id },
      trigger,
      head: { id, path, handler, subject, failures, notBefore },
      eventId: event.id,
      actor: event.actor,
    };
    return { run, task: taskOf(trigger, input, { actor: event.actor, depth, chain }) };
  }

  /** A run by hand, as if its event had just happened. It has one attempt. */
  prepareByHand(trigger: Trigger, record: object): PreparedRun {
    const now = this.#clock.now();
    const runId = newId("run", now);
    const isUser = trigger.collection === "users";
    const event = {
      // The event is in no log, so it has no place in it.
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
      ...(hasPrevious ? { previous: record } : {}),
    };
    const run: FunctionRunState = {
      runId,
      failures: 0,
      policy: linear(0),
      label: `${trigger.handler} of ${trigger.path}, run by hand,`,
      trigger,
      head: null,
      eventId: event.id,
      actor: null,
    };
    return { run, task: taskOf(trigger, input, { actor: null, depth: 1, chain: [] }) };
  }

  begin(run: FunctionRunState): ((tx: Transactor) => Awaitable<unknown>) | null {
    return run.failures > 0 ? null : (tx) => this.#announce(tx, run, { step: "started", result: {} });
  }

  async complete(tx: Transactor, run: FunctionRunState, durationMs: number): Promise<void> {
    await this.#announce(tx, run, { step: "completed", result: { durationMs } });
    if (run.head !== null) await this.#deliveries.remove(tx, run.head.id);
  }

  postpone(tx: Transactor, { head }: FunctionRunState, { next }: { next: Postponement }): Awaitable<unknown> {
    return head === null ? undefined : this.#deliveries.postpone(tx, head.id, next);
  }

  async fail(tx: Transactor, run: FunctionRunState, end: { error: string; durationMs: number }): Promise<void> {
    const { error, durationMs } = end;
    // One time for both: it tells which announcement a failed delivery belongs to.
    const now = this.#clock.now();
    await this.#announce(tx, run, { step: "failed", result: { durationMs, error }, at: now });
    const delivery = run.head === null ? null : await this.#deliveries.get(run.head, tx);
    if (delivery !== null) await this.#deliveries.fail(tx, delivery, { at: now, error });
  }

  failLate(tx: Transactor, run: FunctionRunState, error: string): Awaitable<unknown> {
    return this.#announce(tx, run, { step: "failed", result: { error } });
  }

  /** A delivery waits until its file is loaded again. */
  errorWithoutFile(): null {
    return null;
  }

  /**
   * The input of a handler. The user is read now, as they may have changed since. Null when the event is about a user who
   * has been deleted.
   */
  async #inputOf(delivery: Delivery, runId: string): Promise<RunInput | null> {
    const { failures, previous, event: logged, subject } = delivery;
    const { id, type, timestamp, source, actor } = logged;
    // The text was written from a record.
    const before = previous === null ? null : (JSON.parse(previous) as StoredRecord);
    // Of the update of a large record, the log has the changes, and the delivery the record before them.
    const payload = logged.isPartial ? { ...before, ...logged.payload } : logged.payload;
    const event: Event = { id, type, timestamp, source, payload };
    const user = actor === null ? null : await this.#auth.users.find(actor);
    const changed = delivery.handler === "onDelete" ? before : payload;
    const record = source === "auth" ? await this.#auth.users.find(subject) : changed;
    if (record === null) return null;
    const { chain } = delivery;
    return {
      runId,
      attempt: failures + 1,
      user,
      chain,
      event,
      record,
      ...(before === null ? {} : { previous: before }),
    };
  }

  /** `function.started`, `.completed`, `.failed` (spec, "Events"). */
  #announce(
    tx: Transactor,
    run: FunctionRunState,
    { step, result, at }: { step: "started" | "completed" | "failed"; result: object; at?: number },
  ): Awaitable<unknown> {
    const { trigger, runId, eventId, actor } = run;
    const { collection, handler, eventType, path } = trigger;
    const payload = { collection, trigger: handler, eventType, filePath: path, eventId, runId, ...result };
    const principal = actingFor(actor, 0);
    return this.#events.append(tx, { type: `function.${step}`, source: "functions", payload, principal }, at);
  }
}

function taskOf(
  { path, handler, timeoutMs }: Trigger,
  input: RunInput,
  { actor, depth, chain }: { actor: string | null; depth: number; chain: readonly string[] },
): RunTask {
  return { path, handler, timeoutMs, input, principal: actingFor(actor, depth, [...chain, `${path}:${handler}`]) };
}
