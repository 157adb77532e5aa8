/** The admin API of failures: groups of one cause, their retries, and their status. */
import type { FailureGroup, FailureKind, FailurePage, FailureRetryStarted, FailureStatus } from "@socle/protocol";
import { searchOf } from "./search.ts";
import type { Requests } from "./transport.ts";

export interface FailureQuery {
  status?: FailureStatus | undefined;
  kind?: FailureKind | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
  /** 50 unless said otherwise, 1,000 at most. */
  limit?: number | undefined;
}

/** Failures of functions, hooks, endpoints, queries, jobs, queues and mails, grouped by their cause. */
export class FailureAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** The group with the newest failure first. */
  list(query: FailureQuery = {}): Promise<FailurePage> {
    return this.#transport.call("GET", `/api/admin/failures${searchOf(query)}`);
  }

  /** A group, with the progress of its retry. */
  get(id: string): Promise<FailureGroup> {
    return this.#transport.call("GET", pathOf(id));
  }

  /** Runs the failed runs of a group again, of functions, jobs, queues or mails. The retry goes on in the service. */
  retry(id: string): Promise<FailureRetryStarted> {
    return this.#transport.call("POST", `${pathOf(id)}/retry`);
  }

  /** Runs all failed runs of a kind again, or those of the handlers of a file. Answers the number of runs. */
  retryAll(chosen: {
    kind: "function" | "job" | "queue" | "mail";
    file?: string | undefined;
  }): Promise<{ runs: number }> {
    return this.#transport.call("POST", "/api/admin/failures/retry", { body: chosen });
  }

  /** The group counts failures, and is not open. */
  mute(id: string): Promise<FailureGroup> {
    return this.#transport.call("POST", `${pathOf(id)}/mute`);
  }

  /** The group is open again with the next failure, which sets `seenAgain`. */
  resolve(id: string): Promise<FailureGroup> {
    return this.#transport.call("POST", `${pathOf(id)}/resolve`);
  }

  /** Makes a muted or resolved group open. */
  reopen(id: string): Promise<FailureGroup> {
    return this.#transport.call("POST", `${pathOf(id)}/reopen`);
  }
}

function pathOf(id: string): string {
  return `/api/admin/failures/${encodeURIComponent(id)}`;
}
