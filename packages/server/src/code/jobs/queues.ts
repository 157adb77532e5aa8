/**
 * Queues: jobs that run once for each payload. A run is a row before the answer to the enqueuing,
 * and is made at least once, whatever ends in between. Requests to enqueue a run are checked here, whoever asks.
 */
import type { JsonValue, QueueRun, QueueRunDetail } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import {
  AppError,
  actorOf,
  adviceOnName,
  type Clock,
  causeOf,
  depthOf,
  isObject,
  newId,
  overloaded,
  type Principal,
  parseDatetime,
  previewOf,
  quote,
  toTimestamp,
} from "../../base/kernel/index.ts";
import { referencesIn, resolve } from "../../data/records/index.ts";
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import { causeText } from "../../store/events/index.ts";
import type { Dispatcher } from "../runs/index.ts";
import type { QueueJob } from "./job-file.ts";
import type { JobHead, JobTable, Page, QueueRow } from "./job-table.ts";

/** Characters of a key. */
const maxKey = 200;
const maxBatchRuns = 1_000;

/** A run that a preview would add. */
export const rehearsedRun = noteKind<{
  readonly name: string;
  readonly payload: string;
  readonly runId: string;
}>("jobs.rehearsed");

interface EnqueueRequest {
  readonly payload: string;
  /** The time from which on the run is due, in milliseconds since 1970; 0 for at once. */
  readonly at: number;
  readonly key: string | null;
}

interface QueuesOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly config: Pick<Config, "limits.payload" | "limits.queuedRuns">;
  readonly table: JobTable;
  readonly dispatcher: Dispatcher<JobHead>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Queues {
  readonly #options: QueuesOptions;
  readonly #table: JobTable;
  readonly #dispatcher: Dispatcher<JobHead>;
  #queues = new Map<string, QueueJob>();

  constructor(options: QueuesOptions) {
    this.#options = options;
    this.#table = options.table;
    this.#dispatcher = options.dispatcher;
  }

  /** Replaces all queues. Runs of other files wait until the file is a queue again. */
  use(queues: readonly QueueJob[]): void {
    this.#queues = new Map(queues.map((queue) => [queue.name, queue]));
  }

  has(name: string): boolean {
    return this.#queues.has(name);
  }

  /** Every queue, by name. */
  list(): readonly QueueJob[] {
    return [...this.#queues.values()];
  }

  /**
   * Adds a run to a queue, on disk when this resolves. Answers the id of the run: of the waiting run, if that run has
   * the same key.
   * @param payload JSON.
   * @param options `at` and `key`, from JSON.
   * @throws AppError `not_found`, `bad_request`, `payload_too_large`, `unavailable` for a queue that is full.
   */
  async enqueue(
    name: string,
    { payload, options }: { payload: string; options: unknown },
    principal: Principal,
  ): Promise<string> {
    const request = this.request(payload, options);
    return this.#options.database.transactFor(principal, (tx) => this.add(tx, { name, request, principal }));
  }

  /** @param payload JSON. @param options from JSON. @throws AppError `bad_request`, `payload_too_large`. */
  request(payload: string, options: unknown): EnqueueRequest {
    const maxPayload = this.#options.config["limits.payload"];
    const size = Buffer.byteLength(payload);
    if (size > maxPayload)
      throw new AppError(
        "payload_too_large",
        `The payload has ${size} bytes; limits.payload allows ${maxPayload}. Put the data into a record or a file, and its id into the payload.`,
      );
    if (options !== undefined && options !== null && !isObject(options))
      throw new AppError("bad_request", `The options must be an object such as { at, key }, not ${quote(options)}.`);
    const { at, key, ...others } = options ?? {};
    const [other] = Object.keys(others);
    if (other !== undefined)
      throw new AppError("bad_request", `${quote(other)} is no option beside the payload; allowed: at, key.`);
    return { payload, at: timeOf(at), key: keyOf(key) };
  }

  /** Like `enqueue`, in a transaction of the caller's. */
  add(
    tx: Transactor,
    { name, request, principal }: { name: string; request: EnqueueRequest; principal: Principal },
  ): string {
    const queue = this.#queueOf(name);
    const { path } = queue;
    const { payload, at, key } = request;
    if (key !== null)
      for (const { id, runId } of this.#table.withKey(tx, path, key))
        if (!this.#dispatcher.isUnderWay(id)) return runId;
    const { config, clock, now } = this.#options;
    const maxRuns = config["limits.queuedRuns"];
    if (this.#table.openCount(queue) >= maxRuns)
      throw overloaded("queuedRuns", `The queue ${name} is full: ${maxRuns} runs wait (limits.queuedRuns).`);
    const firstAt = clock.now();
    const runId = newId("run", firstAt);
    const preview = previewOf(principal);
    if (preview !== null) {
      const added = key === null ? runId : preview.runs.getOrInsert(`${name} ${key}`, runId);
      tx.note(rehearsedRun.of({ name, payload, runId: added }));
      return added;
    }
    const notBefore = at <= now() ? 0 : at;
    const cause = causeOf(principal);
    const by = { actor: actorOf(principal), depth: depthOf(principal), cause: cause && causeText(cause) };
    const id = this.#table.add(tx, queue, { runId, payload, key, notBefore, firstAt, ...by });
    tx.onDurable(() => this.#dispatcher.written({ id, path, notBefore }));
    return runId;
  }

  /**
   * The runs that a batch asks for, as work of the transaction, which gets the ids of the batch's records.
   * @throws AppError `bad_request`; the work throws as `enqueue`.
   */
  forBatch(value: unknown, principal: Principal): (tx: Transactor, ids: readonly string[]) => void {
    return this.#adding(value, principal, withIds);
  }

  /** The runs that a transaction asks for, as `forBatch`: payloads have no references. */
  forTransaction(value: unknown, principal: Principal): (tx: Transactor) => void {
    const add = this.#adding(value, principal, (payload) => payload);
    return (tx) => add(tx, []);
  }

  #adding(
    value: unknown,
    principal: Principal,
    place: (payload: unknown, ids: readonly string[]) => unknown,
  ): (tx: Transactor, ids: readonly string[]) => void {
    const runs = batchRuns(value);
    return (tx, ids) => {
      for (const { name, payload, options } of runs) {
        const request = this.request(JSON.stringify(place(payload, ids)), options);
        this.add(tx, { name, request, principal });
      }
    };
  }

  /** @throws AppError `not_found`. */
  counts(name: string): Record<QueueRun["status"], number> {
    const queue = this.#queueOf(name);
    const running = this.#dispatcher.underWay(queue.path).length;
    const waiting = Math.max(0, this.#table.openCount(queue) - running);
    return { waiting, running, failed: this.#table.failedCount(queue.path) };
  }

  /** How long the run that waits longest has been due, in milliseconds; 0 when no run is. */
  lag(name: string): number {
    const now = this.#options.now();
    const since = this.#table.dueSince(this.#queueOf(name).path, now) ?? now;
    return Math.max(0, now - since);
  }

  /**
   * Runs that are not over, in the order of due times; or runs that have failed for good, newest first.
   * @throws AppError `not_found`.
   */
  runs(name: string, status: QueueRun["status"] | null, page: Page): { items: QueueRun[]; total: number } {
    const { path } = this.#queueOf(name);
    const counts = this.counts(name);
    const underWay = this.#dispatcher.underWay(path);
    const rows = this.#table.runs(path, { status, underWay }, page);
    const total = status === null ? counts.waiting + counts.running : counts[status];
    return { items: rows.map((row) => entryOf(row, underWay.includes(row.id))), total };
  }

  /** A run with the payload. @throws AppError `not_found` for a run that is over. */
  find(name: string, runId: string): QueueRunDetail {
    const row = this.#find(this.#options.database.reader, name, runId);
    const isUnderWay = this.#dispatcher.isUnderWay(row.id);
    // The service wrote the text.
    const payload = JSON.parse(row.payload ?? "null") as JsonValue;
    return { ...entryOf(row, isUnderWay), payload };
  }

  /**
   * Makes a run that has failed for good again, with all the attempts.
   * @throws AppError `not_found`, or `bad_request` for a run that is not over.
   */
  retry(tx: Transactor, name: string, runId: string): void {
    const row = this.#find(tx, name, runId);
    const { path } = this.#queueOf(name);
    // The run is due by the time of this retry, and overtakes no run that is due before.
    const notBefore = this.#options.now();
    this.#table.retry(tx, row, { path, at: notBefore });
    tx.onDurable(() => this.#dispatcher.reopened({ id: row.id, path, notBefore }));
  }

  /** Like `retry`, for a run of any queue. @throws AppError as `retry`. */
  retryRun(tx: Transactor, runId: string): void {
    const path = this.#table.pathOf(tx, runId);
    const queue = this.list().find((each) => each.path === path);
    if (queue === undefined)
      throw new AppError("not_found", `The run ${runId} has completed, or no file is its queue.`);
    this.retry(tx, queue.name, runId);
  }

  /**
   * Deletes a run that waits, or has failed for good. A run that is about to start finds the row gone.
   * @throws AppError `not_found`, or `bad_request` for a run that is under way.
   */
  delete(tx: Transactor, name: string, runId: string): void {
    const row = this.#find(tx, name, runId);
    if (row.failedAt === null && this.#dispatcher.isUnderWay(row.id))
      throw new AppError(
        "bad_request",
        "The run is under way. A run can be deleted while waiting, or after its final failure.",
      );
    this.#table.discard(tx, row, this.#queueOf(name).path);
  }

  #find(reader: Pick<Reader, "get">, name: string, runId: string): QueueRow {
    const row = this.#table.find(reader, this.#queueOf(name).path, runId);
    if (row === null)
      throw new AppError("not_found", `There is no run ${quote(runId)} in the queue ${name}, or it has completed.`);
    return row;
  }

  #queueOf(name: string): QueueJob {
    const queue = this.#queues.get(name);
    if (queue !== undefined) return queue;
    throw new AppError("not_found", `There is no queue ${quote(name)}.${adviceOnName(name, [...this.#queues.keys()])}`);
  }
}

function entryOf(row: QueueRow, isUnderWay: boolean): QueueRun {
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

function timeOf(at: unknown): number {
  if (at === undefined || at === null) return 0;
  const time = typeof at === "string" ? parseDatetime(at) : null;
  if (time !== null) return Math.max(0, Date.parse(time));
  throw new AppError("bad_request", `"at" must be a Date, or a text such as "2026-11-22T09:00:00Z", not ${quote(at)}.`);
}

function keyOf(key: unknown): string | null {
  if (key === undefined || key === null) return null;
  if (typeof key === "string" && key.length >= 1 && key.length <= maxKey && key.isWellFormed()) return key;
  throw new AppError("bad_request", `"key" must be a text of 1 to ${maxKey} characters, not ${quote(key)}.`);
}

/** The runs of a batch: a list of `{ name, payload, at, key }`. @throws AppError `bad_request`. */
function batchRuns(value: unknown): { name: string; payload: unknown; options: object }[] {
  if (!Array.isArray(value))
    throw new AppError("bad_request", `"enqueue" must be an array of { name, payload, at, key }, not ${quote(value)}.`);
  if (value.length > maxBatchRuns)
    throw new AppError("bad_request", `"enqueue" has ${value.length} runs; at most ${maxBatchRuns} are possible.`);
  return value.map((run: unknown) => {
    if (!isObject(run)) throw new AppError("bad_request", `A run to enqueue must be an object, not ${quote(run)}.`);
    const { name, payload = null, ...options } = run;
    if (typeof name === "string") return { name, payload, options };
    throw new AppError("bad_request", `"name" must be that of a queue, not ${quote(name)}.`);
  });
}

/** A copy of a payload, with the ids of a batch's records in the place of the references. @throws AppError `bad_request`. */
function withIds(payload: unknown, ids: readonly string[]): unknown {
  const holder = { payload: structuredClone(payload) };
  const references = referencesIn(holder);
  const wrong = references.find(({ operation }) => ids[operation] === undefined);
  if (wrong !== undefined)
    throw new AppError("bad_request", `"$ref": ${wrong.operation} names no operation of the batch.`);
  resolve(references, ids);
  return holder.payload;
}
