/** Queries of the jobs' page: jobs with their last run, the attempts of one job. */
import type { JobEntry } from "@socle/protocol";
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { isOpen } from "./job-runs.ts";

const { scripts } = client.admin;

/** Channels of the service that tell what jobs do. */
export const jobChannels = ["job.started", "job.completed", "job.failed"] as const;

const most = 1_000;
/** While a run goes on: the attempts after the first bring no event. */
const openMs = 1_000;
/** Else: the next run of a job changes when it comes. */
const restMs = 30_000;

export const jobsQuery = queryOptions({
  queryKey: ["jobs", "list"],
  queryFn: async () => (await scripts.jobs({ limit: most })).items,
  refetchInterval: ({ state }) =>
    state.data?.some(
      ({ lastRun, retries, queue }) =>
        (queue?.running ?? 0) > 0 || (lastRun !== null && isOpen(lastRun, retries, Date.now())),
    ) === true
      ? openMs
      : restMs,
});

/** Runs of a queue that are read. */
const queueRoom = 50;

/** The runs of a queue that are not over, or those that have failed for good. */
export function queueRunsQuery(name: string, status: "failed" | undefined) {
  return queryOptions({
    queryKey: ["jobs", "queue", name, status ?? "open"],
    queryFn: () => scripts.queue(name, { status, limit: queueRoom }),
  });
}

/** A run of a queue with its payload; an error for one that is over. */
export function queueRunQuery(name: string, runId: string) {
  return queryOptions({
    queryKey: ["jobs", "queued", name, runId],
    queryFn: () => scripts.queueRun(name, runId),
    retry: false,
  });
}

/** Attempts that are read: those of the last runs. */
const attemptRoom = 200;

export function attemptsQuery({ name, retries }: JobEntry) {
  return queryOptions({
    queryKey: ["jobs", "attempts", name],
    queryFn: () => scripts.jobRuns(name, { limit: attemptRoom }),
    refetchInterval: ({ state }) =>
      state.data?.items.some((attempt) => isOpen(attempt, retries, Date.now())) === true ? openMs : false,
  });
}

export function refreshJobs(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["jobs"] });
}
