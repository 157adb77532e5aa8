/** The admin API of functions and jobs: files, runs, queues. */
import type {
  EndpointEntry,
  FunctionEntry,
  FunctionRun,
  JobEntry,
  JobRun,
  NewQueueRun,
  Page,
  QueueRun,
  QueueRunDetail,
  RunPreview,
  ScriptFileEntry,
  SourceExcerpt,
} from "@socle/protocol";
import type { PageQuery } from "./page-query.ts";
import { searchOf } from "./search.ts";
import type { Requests } from "./transport.ts";

export interface RunQuery extends PageQuery {
  status?: FunctionRun["status"] | undefined;
  /** A file of functions: `functions/posts/notify.ts`. */
  filePath?: string | undefined;
}

export interface QueueQuery extends PageQuery {
  /** Absent: runs that wait and runs that run. */
  status?: QueueRun["status"] | undefined;
}

/** Functions and jobs: files, runs, and running a run again. */
export class ScriptAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** The files of functions and jobs, with the result of the last load. */
  files(query: PageQuery = {}): Promise<Page<ScriptFileEntry>> {
    return this.#transport.call("GET", `/api/admin/scripts${searchOf(query)}`);
  }

  functions(query: PageQuery = {}): Promise<Page<FunctionEntry>> {
    return this.#transport.call("GET", `/api/admin/functions${searchOf(query)}`);
  }

  endpoints(query: PageQuery = {}): Promise<Page<EndpointEntry>> {
    return this.#transport.call("GET", `/api/admin/endpoints${searchOf(query)}`);
  }

  functionRuns(query: RunQuery = {}): Promise<Page<FunctionRun>> {
    return this.#transport.call("GET", `/api/admin/functions/runs${searchOf(query)}`);
  }

  /** Runs a run again that has failed for good. */
  retryFunction(runId: string): Promise<{ runId: string }> {
    return this.#transport.call("POST", `/api/admin/functions/runs/${encodeURIComponent(runId)}/retry`);
  }

  /**
   * Runs the present code with the input of a run of a function, a job or a queue, and answers the effects that the run would have. Nothing of
   * the effects stays. @throws SocleError `conflict` when the input or the code is gone.
   */
  previewRun(runId: string): Promise<RunPreview> {
    return this.#transport.call("POST", `/api/admin/runs/${encodeURIComponent(runId)}/preview`);
  }

  /** The lines around the place of the last error of a run, of a function or a job; null without a place. */
  runSource(runId: string): Promise<{ source: SourceExcerpt | null }> {
    return this.#transport.call("GET", `/api/admin/runs/${encodeURIComponent(runId)}/source`);
  }

  jobs(query: PageQuery = {}): Promise<Page<JobEntry>> {
    return this.#transport.call("GET", `/api/admin/jobs${searchOf(query)}`);
  }

  /** Attempts, newest first. */
  jobRuns(name: string, query: PageQuery = {}): Promise<Page<JobRun>> {
    return this.#transport.call("GET", `/api/admin/jobs/${encodeURIComponent(name)}/runs${searchOf(query)}`);
  }

  /** Starts a job now, once. */
  runJob(name: string): Promise<{ runId: string }> {
    return this.#transport.call("POST", `/api/admin/jobs/${encodeURIComponent(name)}/run`);
  }

  /** Adds a run to the queue of a job. Answers the waiting run with the same key, if the queue has that run. */
  enqueue(name: string, run: NewQueueRun = {}): Promise<{ runId: string }> {
    return this.#transport.call("POST", `/api/admin/jobs/${encodeURIComponent(name)}/enqueue`, { body: run });
  }

  /** Runs of a queue that are not over; with `status: "failed"`, runs that have failed for good. */
  queue(name: string, query: QueueQuery = {}): Promise<Page<QueueRun>> {
    return this.#transport.call("GET", `/api/admin/jobs/${encodeURIComponent(name)}/queue${searchOf(query)}`);
  }

  /** A run of a queue, with the payload. */
  queueRun(name: string, runId: string): Promise<QueueRunDetail> {
    return this.#transport.call("GET", queuePath(name, runId));
  }

  /** Deletes a run of a queue that waits, or has failed for good. */
  async deleteQueued(name: string, runId: string): Promise<void> {
    await this.#transport.fetch("DELETE", queuePath(name, runId));
  }

  /** Runs a run of a queue again that has failed for good. */
  retryQueued(name: string, runId: string): Promise<{ runId: string }> {
    return this.#transport.call("POST", `${queuePath(name, runId)}/retry`);
  }
}

function queuePath(name: string, runId: string): string {
  return `/api/admin/jobs/${encodeURIComponent(name)}/queue/${encodeURIComponent(runId)}`;
}
