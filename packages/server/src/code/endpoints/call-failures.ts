/**
 * Failures of calls that a request, or a live query, waits for: each failure is an ERROR in the log and, as `function.failed`, in the
 * event log, which the list of runs reads. The number of reported failures is bounded; the groups of failures count all.
 */
import type { FailureKind, User } from "@socle/protocol";
import { actingFor, type Cause, type Clock } from "../../base/kernel/index.ts";
import { FailureBudget, type Logger } from "../../base/logging/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import type { ScriptError } from "../script-host/index.ts";

interface CallFailuresOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly kind: FailureKind;
  readonly logger: Logger;
  /** The calls in log messages, for example `requests to endpoints`. */
  readonly calls: string;
}

interface FailedCall {
  readonly path: string;
  /** The name of the handler, for people. */
  readonly trigger: string;
  readonly runId: string;
  /** Null for a call without a request. */
  readonly cause: Cause | null;
  readonly user: User | null;
  readonly ms: number;
}

export class CallFailures {
  readonly #options: CallFailuresOptions;
  readonly #budget: FailureBudget;

  constructor(options: CallFailuresOptions) {
    this.#options = options;
    this.#budget = new FailureBudget((failures) =>
      options.logger.error(`${failures} more ${options.calls} have failed in a minute, and are not listed`),
    );
  }

  report({ message: error, stack }: ScriptError, call: FailedCall): void {
    const { clock, database, events, failures, kind, logger } = this.#options;
    const { path: filePath, trigger, runId, cause, user, ms } = call;
    failures.note({ kind, path: filePath, error, at: clock.now(), run: runId, record: null });
    if (!this.#budget.take()) return;
    logger.error(`${trigger} of ${filePath} failed: ${error}`, {
      runId,
      ...(cause !== null && { requestId: cause.id }),
      stack,
    });
    const payload = {
      collection: "",
      trigger,
      eventType: "request",
      filePath,
      eventId: "",
      runId,
      durationMs: Math.round(ms),
      error,
    };
    const principal = { ...actingFor(user?.id ?? null, 0), ...(cause !== null && { cause }) };
    database
      .upkeep((tx) => events.append(tx, { type: "function.failed", source: "functions", payload, principal }))
      .catch((thrown) => logger.error("A failure could not be recorded", { error: thrown }));
  }
}
