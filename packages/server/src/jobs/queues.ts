/**
 * Queues: jobs that run once for each payload they are given. A run is a row before whoever enqueued it has an answer,
 * and is made at least once, whatever ends in between.
 */
import type { QueueRun, QueueRunDetail } from "@socle/protocol";
import type { Auth } from "../auth/index.ts";
import type { Database, Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import {
  AppError,
  actorOf,
  type Clock,
  count,
  depthOf,
  nearest,
  newId,
  type Principal,
  quote,
  toTimestamp,
} from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { longestBackoffMs, RunLifeCycle, RunLog } from "../runs/index.ts";
import type { ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import { batchRuns } from "./batch-runs.ts";
import { type EnqueueRequest, enqueueRequest, parsedPayload, queueFull } from "./enqueue-request.ts";
import type { JobHistory } from "./history-table.ts";
import type { JobQueue } from "./job-queue-table.ts";
import { jobHandler } from "./job-runs.ts";
import type { QueueJob } from "./queue-definition.ts";
import { type QueueAttempt, QueueDispatcher } from "./queue-dispatcher.ts";
import { type QueueRunState, QueueRuns, queueRun } from "./queue-runs.ts";
import { type QueueHead, type QueueRow, QueueTable } from "./queue-table.ts";

/** Runs under way at a time, for each script process. */
const widthPerProcess = 48;
/** The correction of the clock, backwards, from which on waiting retries are looked at. */
const correctionMs = 5_000;

export interface QueuesOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly auth: Auth;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly processes: number;
  /** Runs that wait in one queue, at most (`limits.queuedRuns`). */
  readonly maxRuns: number;
  /** Bytes of one payload, at most (`limits.payload`). */
  readonly maxPayload: number;
  readonly history: JobHistory;
  readonly jobQueue: JobQueue;
  /** Calls a handler in a script process. */
  readonly run: (task: ScriptTask) => Promise<ScriptOutcome>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The runs of a queue, counted. */
export interface QueueCounts {
  readonly waiting: number;
  readonly running: number;
  readonly failed: number;
}

interface Page {
  readonly limit: number;
  readonly offset: number;
}

export class Queues {
  readonly #options: QueuesOptions;
  readonly #table: QueueTable;
  readonly #runLog: RunLog;
  readonly #lifeCycle: RunLifeCycle<QueueRunState>;
  readonly #dispatcher: QueueDispatcher;
  /** By name. */
  #queues = new Map<string, QueueJob>();
  #isCounted = false;
  /** The time at which the clock was looked at last. */
  #lookedAt = 0;

  constructor(options: QueuesOptions) {
    const { database, logger, run: call, now, processes } = options;
    this.#options = options;
    this.#table = new QueueTable(database, options.jobQueue);
    this.#runLog = new RunLog(database, logger);
    const store = new QueueRuns({ ...options, table: this.#table });
    this.#lifeCycle = new RunLifeCycle({ store, log: this.#runLog, logger, call, now });
    this.#dispatcher = new QueueDispatcher({
      table: this.#table,
      logger,
      width: widthPerProcess * processes,
      attempt: (queue, head) => this.#attempt(queue, head),
      now,
      clock: options.clock,
      onLook: () => this.#lookAtClock(),
    });
  }

  /** Starts waiting runs. Called once, when the files are loaded. */
  async start(): Promise<void> {
    await this.#followBack();
    this.#dispatcher.start(await this.#table.lastId());
  }

  /**
   * Replaces all queues. Runs of other files wait until their file is a queue again.
   * @param broken paths of files that have never been loaded.
   */
  async use(queues: readonly QueueJob[], broken: readonly string[]): Promise<void> {
    if (!this.#isCounted) await this.#table.start();
    this.#isCounted = true;
    await this.#table.register(queues.map(({ path }) => path));
    this.#queues = new Map(queues.map((queue) => [queue.name, queue]));
    this.#dispatcher.use(queues);
    const known = new Set(queues.map(({ path }) => path));
    for (const { path, waiting } of await this.#table.waiting()) {
      if (known.has(path)) continue;
      const why = broken.includes(path) ? "does not load" : "is not there any more, or is no queue";
      this.#options.logger.warn(`${count(waiting, "run")} of ${path} wait, because it ${why}`);
    }
  }

  /** Every queue, by name. */
  list(): readonly QueueJob[] {
    return [...this.#queues.values()];
  }

  /** Starts no more runs. Resolves when none is under way. */
  stop(): Promise<void> {
    return this.#dispatcher.stop();
  }

  /** Whether a run is due or under way. */
  get isBusy(): boolean {
    return this.#dispatcher.isBusy;
  }

  /** Resolves when everything about runs is written. */
  settled(): Promise<void> {
    return this.#runLog.settled();
  }

  /**
   * Adds a run to a queue, on disk when this resolves. Answers the id of the run: of the one that waits, where that has
   * the same key.
   * @param payload JSON.
   * @param options `at` and `key`, as JSON has them.
   * @throws AppError `not_found`, `bad_request`, `payload_too_large`, `unavailable` for a queue that is full.
   */
  async enqueue(
    name: string,
    { payload, options }: { payload: string; options: unknown },
    principal: Principal,
  ): Promise<string> {
    const request = this.request(payload, options);
    return this.#options.database.transact((tx) => this.add(tx, { name, request, principal }));
  }

  /** @throws AppError `bad_request`, `payload_too_large`. */
  request(payload: string, options: unknown): EnqueueRequest {
    return enqueueRequest(payload, options, this.#options.maxPayload);
  }

  /** Like `enqueue`, in a transaction of the caller's. */
  async add(
    tx: Transactor,
    { name, request, principal }: { name: string; request: EnqueueRequest; principal: Principal },
  ): Promise<string> {
    const { path } = this.#queueOf(name);
    const { payload, at, key } = request;
    if (key !== null)
      for (const { id, runId } of await this.#table.withKey(tx, path, key))
        if (!this.#dispatcher.isUnderWay(id)) return runId;
    const { maxRuns, clock, now } = this.#options;
    if (this.#table.openCount(path) >= maxRuns) throw queueFull(name, maxRuns);
    const createdAt = clock.now();
    const runId = newId("run", createdAt);
    const notBefore = at <= now() ? 0 : at;
    const by = { actor: actorOf(principal), depth: depthOf(principal) };
    const id = await this.#table.add(tx, path, { runId, payload, key, notBefore, createdAt, ...by });
    tx.onDurable(() => this.#dispatcher.written(path, { id, notBefore }));
    return runId;
  }

  /**
   * The runs that a batch asks for, as work of its transaction, which gets the ids of the batch's records.
   * @throws AppError `bad_request`; the work throws as `enqueue`.
   */
  forBatch(value: unknown, principal: Principal): (tx: Transactor, ids: readonly string[]) => Promise<void> {
    const runs = batchRuns(value);
    return async (tx, ids) => {
      for (const { name, options, payloadWith } of runs)
        await this.add(tx, { name, request: this.request(payloadWith(ids), options), principal });
    };
  }

  /** @throws AppError `not_found`. */
  async counts(name: string): Promise<QueueCounts> {
    const { path } = this.#queueOf(name);
    const running = this.#dispatcher.underWay(path).length;
    const waiting = Math.max(0, this.#table.openCount(path) - running);
    return { waiting, running, failed: await this.#table.failedCount(path) };
  }

  /** How long the run that waits longest has been due, in milliseconds; 0 when none is. */
  async lag(name: string): Promise<number> {
    const now = this.#options.now();
    const since = await this.#table.dueSince(this.#queueOf(name).path, now);
    return since === null ? 0 : Math.max(0, now - since);
  }

  /**
   * Runs that are not over, those that are due first at the top; or those that have failed for good, newest first.
   * @throws AppError `not_found`.
   */
  async runs(
    name: string,
    status: QueueRun["status"] | null,
    page: Page,
  ): Promise<{ items: QueueRun[]; total: number }> {
    const { path } = this.#queueOf(name);
    const { waiting, running, failed } = await this.counts(name);
    const underWay = this.#dispatcher.underWay(path);
    const entry = (row: QueueRow): QueueRun => this.#entryOf(row, underWay.includes(row.id));
    if (status === "failed") return { items: (await this.#table.failedRuns(path, page)).map(entry), total: failed };
    const filter = {
      ...(status === "running" && { only: underWay }),
      ...(status === "waiting" && { except: underWay }),
    };
    const rows = await this.#table.openRuns(path, filter, page);
    const total = { running, waiting, all: waiting + running }[status ?? "all"];
    return { items: rows.map(entry), total };
  }

  /** One run with its payload. @throws AppError `not_found` for one that is over. */
  async find(name: string, runId: string): Promise<QueueRunDetail> {
    const row = await this.#find(this.#options.database.reader, name, runId);
    const isUnderWay = this.#dispatcher.isUnderWay(row.id);
    return { ...this.#entryOf(row, isUnderWay), payload: parsedPayload(row.payload ?? "null") };
  }

  /**
   * Makes a run that has failed for good again, with all its attempts.
   * @throws AppError `not_found`, or `bad_request` for one that is not over.
   */
  async retry(tx: Transactor, name: string, runId: string): Promise<void> {
    const row = await this.#find(tx, name, runId);
    if (row.failedAt === null)
      throw new AppError("bad_request", "The run is not over: it runs, or waits for its turn.");
    const { path } = this.#queueOf(name);
    // Among those whose time has come, by the time of this retry: the run does not overtake the others.
    const notBefore = this.#options.now();
    await this.#table.reopen(tx, row, { path, at: notBefore });
    tx.onDurable(() => this.#dispatcher.written(path, { id: row.id, notBefore }));
  }

  /**
   * Deletes a run that waits, or has failed for good.
   * @param transact runs the work in a transaction.
   * @throws AppError `not_found`, or `bad_request` for one that is under way.
   */
  async delete(
    name: string,
    runId: string,
    transact: (work: (tx: Transactor) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { id, failedAt } = await this.#find(this.#options.database.reader, name, runId);
    const underWay = (): AppError =>
      new AppError("bad_request", "The run is under way. It can be deleted when it waits, or has failed for good.");
    // One that has failed for good does not start, unless it is retried meanwhile.
    const hasFailed = failedAt !== null;
    if (!hasFailed && !this.#dispatcher.withhold(id)) throw underWay();
    try {
      await transact(async (tx) => {
        const row = await this.#find(tx, name, runId);
        if (hasFailed && row.failedAt === null) throw underWay();
        await this.#table.discard(tx, row, this.#queueOf(name).path);
      });
    } finally {
      if (!hasFailed) this.#dispatcher.release(id);
    }
  }

  async #find(reader: Pick<Transactor, "get">, name: string, runId: string): Promise<QueueRow> {
    const row = await this.#table.find(reader, this.#queueOf(name).path, runId);
    if (row === null)
      throw new AppError("not_found", `There is no run ${quote(runId)} in the queue ${name}, or it has completed.`);
    return row;
  }

  #queueOf(name: string): QueueJob {
    const queue = this.#queues.get(name);
    if (queue !== undefined) return queue;
    const names = [...this.#queues.keys()];
    const near = nearest(name, names);
    const advice =
      near === null ? (names.length === 0 ? "" : ` There are: ${names.join(", ")}.`) : ` Did you mean ${near}?`;
    throw new AppError("not_found", `There is no queue ${quote(name)}.${advice}`);
  }

  #entryOf(row: QueueRow, isUnderWay: boolean): QueueRun {
    const { runId, key, failures, notBefore, createdAt, failedAt, error, payloadSize } = row;
    return {
      runId,
      status: failedAt !== null ? "failed" : isUnderWay ? "running" : "waiting",
      key,
      createdAt: toTimestamp(createdAt),
      dueAt: toTimestamp(notBefore === 0 ? createdAt : notBefore),
      failures,
      failedAt: failedAt === null ? null : toTimestamp(failedAt),
      error,
      payloadSize,
    };
  }

  /** Makes the next attempt of a run. */
  #attempt(queue: QueueJob, head: QueueHead): QueueAttempt {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const make = async (): Promise<Awaited<QueueAttempt["end"]>> => {
      // A transaction that was answered this run by its key is committed before the run starts: its changes are visible.
      if (head.key !== null) await this.#options.database.transact(() => undefined);
      const input = await this.#table.input(head);
      // Another look at the table has found it in the state that it is in now.
      if (input === null) return "over";
      const { payload, actor, depth } = input;
      const { clock, auth } = this.#options;
      const user = actor === null ? null : await auth.users.find(actor);
      const run = queueRun(queue, head, { startedAt: clock.now(), actor, depth });
      const { outcome, end } = this.#lifeCycle.attempt(run, {
        path: queue.path,
        handler: jobHandler,
        timeoutMs: queue.timeoutMs,
        input: { runId: run.runId, attempt: head.failures + 1, user, payload: parsedPayload(payload) },
        principal: run.principal,
      });
      await outcome;
      resolve();
      return (await end).next;
    };
    const end = make()
      .catch((error): "stays" => {
        this.#options.logger.error(`The job ${queue.name} could not be run; the run waits for the next load`, {
          runId: head.runId,
          error,
        });
        return "stays";
      })
      .finally(resolve);
    return { left, end };
  }

  #lookAtClock(): void {
    const now = this.#options.now();
    const wasSetBack = now < this.#lookedAt - correctionMs;
    this.#lookedAt = now;
    if (wasSetBack) void this.#followBack().then(() => this.#dispatcher.lookAgain());
  }

  /** The clock was set back: retries that a later clock had put off beyond any pause are due after the longest one. */
  async #followBack(): Promise<void> {
    const notBefore = this.#options.now() + longestBackoffMs;
    await this.#runLog.write("clock", (tx) => this.#table.bringForward(tx, { beyond: notBefore, notBefore }));
  }
}
