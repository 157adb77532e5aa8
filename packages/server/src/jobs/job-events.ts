/** The events of jobs: `job.started`, `.completed`, `.failed`, once for each run (spec, "Events"). */
import type { EventLog } from "../events/index.ts";
import type { Principal } from "../kernel/index.ts";

export type JobStep = "started" | "completed" | "failed";

type NewEvent = Parameters<EventLog["append"]>[1];

/** The event of a step. The schedule of a queue is null. */
export function jobEvent(
  step: JobStep,
  { name, path, schedule }: { readonly name: string; readonly path: string; readonly schedule: string | null },
  run: {
    readonly runId: string;
    readonly attempt: number;
    /** Null while the run is not over. */
    readonly durationMs: number | null;
    readonly error?: string | undefined;
    readonly principal: Principal;
  },
): NewEvent {
  const { runId, attempt, durationMs, error, principal } = run;
  const payload = {
    name,
    filePath: path,
    schedule,
    runId,
    attempt,
    ...(durationMs === null ? {} : { durationMs }),
    ...(error === undefined ? {} : { error }),
  };
  return { type: `job.${step}`, source: "jobs", payload, principal };
}
