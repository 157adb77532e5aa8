/** The runs of functions: how the states of a delivery are written and announced, and the input of its handler. */
import type { Event, StoredRecord } from "@socle/protocol";
import { actingFor, type Clock, newId, toTimestamp } from "../../base/kernel/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { type EventLog, eventId } from "../../store/events/index.ts";
import { type HandlerRun, linear, type Postponement, type RunStore, type RunTask } from "../runs/index.ts";
import type { RunInput } from "../script-host/index.ts";
import { runIdOf } from "./delivery-event.ts";
import type { Deliveries, Delivery, DeliveryHead } from "./delivery-table.ts";
import type { Trigger } from "./triggers.ts";

/** A run of a function. */
export interface FunctionRunState extends HandlerRun {
  readonly trigger: Trigger;
  /** Null for a run by hand, which is in no table. */
  readonly head: DeliveryHead | null;
  readonly eventId: string;
  /** The user behind the event, or null. */
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

  /** The run of a delivery; null when the event is about a deleted user. */
  prepare(delivery: Delivery, trigger: Trigger): PreparedRun | null {
    const { event, depth, chain, failures } = delivery;
    const runId = runIdOf(event.id, delivery.id);
    const input = this.#inputOf(delivery, runId);
    if (input === null) return null;
    const { id, path, handler, key, turn, notBefore } = delivery;
    const run: FunctionRunState = {
      runId,
      failures,
      policy: trigger.policy,
      label: `${trigger.handler} of ${trigger.path}`,
      logFields: { eventId: event.id },
      trigger,
      head: { id, path, handler, key, turn, failures, notBefore },
      eventId: event.id,
      actor: event.actor,
    };
    return { run, task: taskOf(trigger, input, { actor: event.actor, depth, chain }) };
  }

  /** A run by hand, with a single attempt, as if its event had just happened. */
  prepareByHand(trigger: Trigger, record: object): PreparedRun {
    const now = this.#clock.now();
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

  begin(run: FunctionRunState): ((tx: Transactor) => unknown) | null {
    return run.failures > 0 ? null : (tx) => this.#announce(tx, run, { step: "started", result: {} });
  }

  complete(tx: Transactor, run: FunctionRunState, durationMs: number): void {
    this.#announce(tx, run, { step: "completed", result: { durationMs } });
    if (run.head !== null) this.#deliveries.remove(tx, run.head.id);
  }

  postpone(tx: Transactor, { head }: FunctionRunState, { next }: { next: Postponement }): void {
    if (head !== null) this.#deliveries.postpone(tx, head.id, next);
  }

  fail(tx: Transactor, run: FunctionRunState, end: { error: string; durationMs: number }): void {
    const { error, durationMs } = end;
    // The same time for both tells which announcement a failed delivery belongs to.
    const now = this.#clock.now();
    this.#announce(tx, run, { step: "failed", result: { durationMs, error }, at: now });
    const delivery = run.head === null ? null : this.#deliveries.get(run.head, tx);
    if (delivery !== null) this.#deliveries.fail(tx, delivery, { at: now, error });
  }

  failLate(tx: Transactor, run: FunctionRunState, error: string): void {
    this.#announce(tx, run, { step: "failed", result: { error } });
  }

  /** A delivery waits until its file is loaded again. */
  errorWithoutFile(): null {
    return null;
  }

  /**
   * The input of a handler. The user is read now, as the user may have changed since. Null for the event of a user who
   * has been deleted.
   */
  #inputOf(delivery: Delivery, runId: string): RunInput | null {
    const { failures, previous, event: logged, key } = delivery;
    const { id, type, timestamp, source, actor } = logged;
    // The text was written from a record.
    const before = previous === null ? null : (JSON.parse(previous) as StoredRecord);
    // The log has the changes of a large record, and the delivery the record before the update.
    const payload = logged.isPartial ? { ...before, ...logged.payload } : logged.payload;
    const event: Event = { id, type, timestamp, source, payload };
    const user = actor === null ? null : this.#auth.users.find(actor);
    const changed = delivery.handler === "onDelete" ? before : payload;
    const record = source === "auth" ? this.#auth.users.find(key) : changed;
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
  ): void {
    const { trigger, runId, eventId, actor } = run;
    const { collection, handler, eventType, path } = trigger;
    const payload = { collection, trigger: handler, eventType, filePath: path, eventId, runId, ...result };
    const principal = actingFor(actor, 0);
    this.#events.append(tx, { type: `function.${step}`, source: "functions", payload, principal }, at);
  }
}

function taskOf(
  { path, handler, timeoutMs }: Trigger,
  input: RunInput,
  { actor, depth, chain }: { actor: string | null; depth: number; chain: readonly string[] },
): RunTask {
  return { path, handler, timeoutMs, input, principal: actingFor(actor, depth, [...chain, `${path}:${handler}`]) };
}
