/** Admin API of functions and jobs: lists files, handlers, runs and queues, enqueues runs, and starts runs again. */
import type {
  EndpointEntry,
  FunctionEntry,
  FunctionRun,
  JobEntry,
  JobRun,
  QueueRun,
  QueueRunDetail,
  RunPreview,
  ScriptFileEntry,
  SourceExcerpt,
} from "@socle/protocol";
import { AppError, quote, readChoice, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import type { Endpoints } from "../../code/endpoints/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import type { JobDefinition, Jobs } from "../../code/jobs/index.ts";
import type { Previews } from "../../code/previews/index.ts";
import type { FileState } from "../../code/script-host/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import { type AdminChanges, deletion } from "./admin-changes.ts";

/** The types of functions. The type of a hook is the name of the handler. */
const types: { readonly [kind: string]: FunctionEntry["type"] } = {
  onCreate: "create",
  onUpdate: "update",
  onDelete: "delete",
  onLogin: "login",
};

const kinds = {
  functions: "function",
  jobs: "job",
  endpoints: "endpoint",
  queries: "query",
  migrations: null,
} as const;

const statuses = ["waiting", "running", "completed", "failed"] as const satisfies FunctionRun["status"][];

const queueStatuses = ["waiting", "running", "failed"] as const satisfies QueueRun["status"][];

interface ScriptAdminOptions {
  changes: AdminChanges;
  functions: Functions;
  jobs: Jobs;
  endpoints: Endpoints;
  scriptFiles: () => readonly FileState[];
  previews: Pick<Previews, "make">;
  /** Loads code, texts of mails, rooms and certificates again, as SIGHUP does; null while each change is loaded by itself. */
  reload: (() => void) | null;
}

export class ScriptAdmin {
  readonly #options: ScriptAdminOptions;

  constructor(options: ScriptAdminOptions) {
    this.#options = options;
  }

  /** Every file, also a file that was never loaded. */
  files(): ScriptFileEntry[] {
    return this.#options.scriptFiles().flatMap(({ file, loadedAt, problem }) => {
      const kind = kinds[file.folder];
      // Migrations have processes of their own.
      if (kind === null) return [];
      return {
        filePath: file.path,
        kind,
        collection: file.collection,
        loadedAt: loadedAt === null ? null : toTimestamp(loadedAt),
        problem: problem && {
          message: problem.message,
          stack: problem.stack ?? null,
          since: toTimestamp(problem.since),
        },
      };
    });
  }

  /** Begins to load the code again; the log and the list of the files tell the outcome. @throws AppError `conflict` under `socle dev`. */
  async reload(admin: SignedIn): Promise<void> {
    const { changes, reload } = this.#options;
    if (reload === null) throw new AppError("conflict", "`socle dev` loads each changed file by itself.");
    await changes.transact(admin, (_tx, audit) => audit({ action: "code.reloaded", target: "service" }));
    reload();
  }

  /** Functions and hooks, by file. */
  functions(): FunctionEntry[] {
    const { hooks } = this.#options.functions;
    const functions = this.#options.functions
      .triggers()
      .map(({ collection, handler, kind, eventType, path: filePath, timeoutMs: timeout, policy: { retries } }) => {
        const type = types[kind] ?? "create";
        return { collection, type, eventType, filePath, handler, timeout, retries };
      });
    const before = hooks
      .list()
      .map(({ collection, handler, kind, eventType, path: filePath, calls }): FunctionEntry => {
        const head = { collection, type: kind, eventType, filePath, handler };
        return { ...head, timeout: hooks.timeoutMs, retries: 0, calls: { ...calls } };
      });
    return [...functions, ...before].sort((a, b) => (a.filePath < b.filePath ? -1 : Number(a.filePath > b.filePath)));
  }

  endpoints(): EndpointEntry[] {
    return this.#options.endpoints.list().map(({ path, route, methods, access, methodAccess, timeoutMs }) => ({
      path: route,
      filePath: path,
      methods: [...methods],
      access,
      ...(Object.keys(methodAccess).length > 0 && { methodAccess }),
      timeout: timeoutMs,
    }));
  }

  /** @throws AppError `bad_request` for an unknown status, `unavailable` when the search takes too long. */
  functionRuns(
    filter: { status: string | null; filePath: string | null },
    page: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: FunctionRun[]; total: number }> {
    const status = filter.status === null ? null : readChoice("status", filter.status, statuses);
    return this.#options.functions.runs({ status, filePath: filter.filePath || null }, page);
  }

  /** @throws AppError `not_found`, or `bad_request` for a run that is not over. */
  async retryFunction(runId: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      const { path: filePath, handler } = this.#options.functions.retry(tx, runId);
      audit({ action: "function.retried", target: runId, after: { filePath, handler } });
    });
  }

  /** The source around the place of the last error of a run, of a function or a job. */
  runSource(runId: string): { source: SourceExcerpt | null } {
    return { source: this.#options.functions.sourceOf(runId) };
  }

  /** Runs the present code with the input of a run, and throws the effects away. @throws AppError as `Previews.make`. */
  preview(runId: string, waiter: Waiter): Promise<RunPreview> {
    return this.#options.previews.make(runId, waiter);
  }

  /** Jobs and queues, by name. */
  jobs(): JobEntry[] {
    const { jobs } = this.#options;
    const { queues } = jobs;
    const lastRuns = jobs.lastRuns();
    const entryOf = ({ name, path, timeoutMs, policy, concurrency }: JobDefinition): JobEntry => ({
      name,
      filePath: path,
      timeout: timeoutMs,
      retries: policy.retries,
      lastRun: lastRuns.get(name) ?? null,
      schedule: null,
      timezone: null,
      nextRun: null,
      overlap: concurrency > 1,
      catchUp: false,
      queue: null,
    });
    const scheduled = jobs.list().map(({ job, due }): JobEntry => {
      const { schedule, timezone, overlap, catchUp } = job;
      const nextRun = Number.isFinite(due) ? toTimestamp(due) : null;
      return { ...entryOf(job), schedule, timezone, overlap, catchUp, nextRun };
    });
    const queued = queues.list().map((queue): JobEntry => {
      const { name, concurrency, backoff } = queue;
      return { ...entryOf(queue), queue: { concurrency, backoff, ...queues.counts(name) } };
    });
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
    const { queues } = this.#options.jobs;
    const request = queues.request(JSON.stringify(payload), options);
    const runId = await this.#options.changes.transact(admin, (tx, audit) => {
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
    const wanted = status === null ? null : readChoice("status", status, queueStatuses);
    return this.#options.jobs.queues.runs(name, wanted, page);
  }

  /** @throws AppError `not_found`. */
  queueRun(name: string, runId: string): QueueRunDetail {
    return this.#options.jobs.queues.find(name, runId);
  }

  /** @throws AppError `not_found`, or `bad_request` for a run that is not over. */
  async retryQueued(name: string, runId: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      this.#options.jobs.queues.retry(tx, name, runId);
      audit({ action: "job.retried", target: runId, after: { name } });
    });
  }

  /** @throws AppError `not_found`, or `bad_request` for a run that is under way. */
  async deleteQueued(name: string, runId: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(
      admin,
      (tx, audit) => {
        this.#options.jobs.queues.delete(tx, name, runId);
        audit({ action: "job.deleted", target: runId, before: { name } });
      },
      deletion,
    );
  }

  /** Attempts, newest first; also of a job without a file. @throws AppError `not_found` for an unknown job. */
  jobRuns(name: string): JobRun[] {
    const runs = this.#options.jobs.runs(name);
    if (runs.length === 0) this.#refuseUnknown(name);
    return runs;
  }

  /** Starts a job now, once. Answers the run. @throws AppError `not_found`. */
  async runJob(name: string, admin: SignedIn): Promise<{ runId: string }> {
    this.#options.jobs.refuseQueue(name);
    this.#refuseUnknown(name);
    // The audit is written first: without the audit, the job is not started.
    await this.#options.changes.transact(admin, (_, audit) => audit({ action: "job.run", target: name }));
    const run = this.#options.jobs.runByHand(name);
    if (run === undefined) throw missingJob(name);
    // A caller that has the id finds the run, even after a crash.
    await run.noted;
    return { runId: run.runId };
  }

  #refuseUnknown(name: string): void {
    if (!this.#options.jobs.names().includes(name)) throw missingJob(name);
  }
}

function missingJob(name: string): AppError {
  return new AppError("not_found", `There is no job ${quote(name)}.`);
}
