/** Admin API of functions and jobs: lists files, handlers, runs and queues, enqueues runs, and starts runs again. */
import type {
  EndpointEntry,
  FunctionEntry,
  FunctionRun,
  JobEntry,
  JobRun,
  QueueRun,
  QueueRunDetail,
  ScriptFileEntry,
} from "@socle/protocol";
import { AppError, oneOf, quote, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import type { Endpoints } from "../../code/endpoints/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import type { Jobs } from "../../code/jobs/index.ts";
import type { FileState } from "../../code/script-host/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

/** The types of functions. A hook has its name. */
const types: { readonly [handler: string]: FunctionEntry["type"] } = {
  onCreate: "create",
  onUpdate: "update",
  onDelete: "delete",
  onLogin: "login",
};

const kinds = { functions: "function", jobs: "job", endpoints: "endpoint" } as const;

const statuses = ["waiting", "running", "completed", "failed"] as const satisfies FunctionRun["status"][];

const queueStatuses = ["waiting", "running", "failed"] as const satisfies QueueRun["status"][];

/** @throws AppError `bad_request`. */
function statusOf<S extends string>(text: string | null, allowed: readonly S[]): S | null {
  if (text === null) return null;
  const status = allowed.find((each) => each === text);
  if (status !== undefined) return status;
  throw new AppError("bad_request", `"status" must be ${oneOf(allowed)}, not ${quote(text)}.`);
}

export class ScriptAdmin {
  readonly #changes: AdminChanges;
  readonly #functions: Functions;
  readonly #jobs: Jobs;
  readonly #endpoints: Endpoints;
  readonly #files: () => readonly FileState[];

  constructor(options: {
    changes: AdminChanges;
    functions: Functions;
    jobs: Jobs;
    endpoints: Endpoints;
    scriptFiles: () => readonly FileState[];
  }) {
    this.#changes = options.changes;
    this.#functions = options.functions;
    this.#jobs = options.jobs;
    this.#endpoints = options.endpoints;
    this.#files = options.scriptFiles;
  }

  /** Every file, also a file that was never loaded. */
  files(): ScriptFileEntry[] {
    return this.#files().map(({ file, loadedAt, problem }) => ({
      filePath: file.path,
      kind: kinds[file.folder],
      collection: file.collection,
      loadedAt: loadedAt === null ? null : toTimestamp(loadedAt),
      problem:
        problem === null
          ? null
          : { message: problem.message, stack: problem.stack ?? null, since: toTimestamp(problem.since) },
    }));
  }

  /** Functions and hooks, by file. */
  functions(): FunctionEntry[] {
    const { hooks } = this.#functions;
    const functions = this.#functions.triggers().map(
      ({ collection, handler, eventType, path, timeoutMs, policy }): FunctionEntry => ({
        collection,
        type: types[handler] ?? "create",
        eventType,
        filePath: path,
        handler,
        timeout: timeoutMs,
        retries: policy.retries,
      }),
    );
    const before = hooks.list().map(
      (hook): FunctionEntry => ({
        collection: hook.collection,
        type: hook.handler,
        eventType: hook.eventType,
        filePath: hook.path,
        handler: hook.handler,
        timeout: hooks.timeoutMs,
        retries: 0,
        calls: { ...hook.calls },
      }),
    );
    return [...functions, ...before].sort((a, b) => (a.filePath < b.filePath ? -1 : Number(a.filePath > b.filePath)));
  }

  endpoints(): EndpointEntry[] {
    return this.#endpoints.list().map(({ path, route, methods, access, timeoutMs }) => ({
      path: route,
      filePath: path,
      methods: [...methods],
      access,
      timeout: timeoutMs,
    }));
  }

  /** @throws AppError `bad_request` for an unknown status, `unavailable` when the search takes too long. */
  functionRuns(
    filter: { status: string | null; filePath: string | null },
    page: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: FunctionRun[]; total: number }> {
    return this.#functions.runs({ status: statusOf(filter.status, statuses), filePath: filter.filePath || null }, page);
  }

  /** @throws AppError `not_found`, or `bad_request` for a run that is not over. */
  async retryFunction(runId: string, admin: SignedIn): Promise<void> {
    await this.#changes.transact(admin, (tx, audit) => {
      const { path, handler } = this.#functions.retry(tx, runId);
      const after = { filePath: path, handler };
      audit({ action: "function.retried", target: runId, after });
    });
  }

  /** Jobs and queues, by name. */
  jobs(): JobEntry[] {
    const { queues } = this.#jobs;
    const scheduled = this.#jobs.list().map(
      ({ job, due }): JobEntry => ({
        ...this.#headOf(job),
        schedule: job.schedule,
        timezone: job.timezone,
        nextRun: Number.isFinite(due) ? toTimestamp(due) : null,
        overlap: job.overlap,
        queue: null,
      }),
    );
    const queued = queues.list().map(
      (queue): JobEntry => ({
        ...this.#headOf(queue),
        schedule: null,
        timezone: null,
        nextRun: null,
        overlap: queue.concurrency > 1,
        queue: { concurrency: queue.concurrency, backoff: queue.backoff, ...queues.counts(queue.name) },
      }),
    );
    return [...scheduled, ...queued].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Adds a run to a queue. Answers the run, or the waiting run with the same key.
   * @throws AppError as `Queues.enqueue`.
   */
  async enqueue(
    name: string,
    { payload = null, ...options }: Record<string, unknown>,
    admin: SignedIn,
  ): Promise<{ runId: string }> {
    const { queues } = this.#jobs;
    const request = queues.request(JSON.stringify(payload), options);
    const runId = await this.#changes.transact(admin, (tx, audit) => {
      const id = queues.add(tx, { name, request, principal: admin });
      audit({ action: "job.enqueued", target: name, after: { runId: id } });
      return id;
    });
    return { runId };
  }

  /** Runs of a queue that are not over, or have failed for good. @throws AppError `bad_request`, `not_found`. */
  queueRuns(
    name: string,
    status: string | null,
    page: { limit: number; offset: number },
  ): { items: QueueRun[]; total: number } {
    return this.#jobs.queues.runs(name, statusOf(status, queueStatuses), page);
  }

  /** @throws AppError `not_found`. */
  queueRun(name: string, runId: string): QueueRunDetail {
    return this.#jobs.queues.find(name, runId);
  }

  /** @throws AppError `not_found`, or `bad_request` for a run that is not over. */
  async retryQueued(name: string, runId: string, admin: SignedIn): Promise<void> {
    await this.#changes.transact(admin, (tx, audit) => {
      this.#jobs.queues.retry(tx, name, runId);
      audit({ action: "job.retried", target: runId, after: { name } });
    });
  }

  /** @throws AppError `not_found`, or `bad_request` for a run that is under way. */
  async deleteQueued(name: string, runId: string, admin: SignedIn): Promise<void> {
    await this.#changes.transact(admin, (tx, audit) => {
      this.#jobs.queues.delete(tx, name, runId);
      audit({ action: "job.deleted", target: runId, before: { name } });
    });
  }

  /** Attempts, newest first; also of a job whose file is gone. @throws AppError `not_found` for an unknown job. */
  jobRuns(name: string): JobRun[] {
    const runs = this.#jobs.runs(name);
    if (runs.length === 0) this.#refuseUnknown(name);
    return runs;
  }

  /** Starts a job now, once. Answers its run. @throws AppError `not_found`. */
  async runJob(name: string, admin: SignedIn): Promise<{ runId: string }> {
    this.#jobs.refuseQueue(name);
    this.#refuseUnknown(name);
    // The audit is written first: without the audit, the job is not started.
    await this.#changes.transact(admin, (_, audit) => audit({ action: "job.run", target: name }));
    const run = this.#jobs.runByHand(name);
    if (run === undefined) throw missingJob(name);
    // A caller that has the id finds the run, even after a crash.
    await run.noted;
    return { runId: run.runId };
  }

  /** The members of an entry that a schedule and a queue have in common. */
  #headOf({
    name,
    path,
    timeoutMs,
    policy,
  }: Pick<ReturnType<Jobs["queues"]["list"]>[number], "name" | "path" | "timeoutMs" | "policy">) {
    return { name, filePath: path, timeout: timeoutMs, retries: policy.retries, lastRun: this.#jobs.lastRun(name) };
  }

  #refuseUnknown(name: string): void {
    if (!this.#jobs.names().includes(name)) throw missingJob(name);
  }
}

function missingJob(name: string): AppError {
  return new AppError("not_found", `There is no job ${quote(name)}.`);
}
