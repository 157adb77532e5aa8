/** Queries of the jobs' page: jobs with their last run, the attempts of a job. */
import type { JobEntry } from "@socle/protocol";
import { queryOptions } from "@tanstack/react-query";
import { confirmDanger, notifyDone } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { isOpen } from "./job-runs.ts";

const { scripts } = client.admin;

/** Channels of the service with events about jobs. */
export const jobChannels = ["job.started", "job.completed", "job.failed"] as const;

const most = 1_000;
/** Interval while a run goes on: attempts after the first send no event. */
const openMs = 1_000;
/** Otherwise: the next run of a job changes when the run is due. */
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

/** Most runs of a queue in an answer. */
const queueRoom = 50;

/** The open runs of a queue, or the runs that failed for good. */
export function queueRunsQuery(name: string, status: "failed" | undefined) {
  return queryOptions({
    queryKey: ["jobs", "queue", name, status ?? "open"],
    queryFn: () => scripts.queue(name, { status, limit: queueRoom }),
  });
}

/** A run of a queue with its payload; an error for an ended run. */
export function queueRunQuery(name: string, runId: string) {
  return queryOptions({
    queryKey: ["jobs", "queued", name, runId],
    queryFn: () => scripts.queueRun(name, runId),
    retry: false,
  });
}

/** Bound for the attempts that the page reads, counted from the newest. */
const attemptRoom = 200;

export function attemptsQuery({ name, retries }: JobEntry) {
  return queryOptions({
    queryKey: ["jobs", "attempts", name],
    queryFn: () => scripts.jobRuns(name, { limit: attemptRoom }),
    refetchInterval: ({ state }) =>
      state.data?.items.some((attempt) => isOpen(attempt, retries, Date.now())) === true ? openMs : false,
  });
}

/** Asks the user, and then retries all failed runs of a queue, in the service. @param file the file of the queue. */
export function askRetryAll(n: number, file: string): void {
  const words = text.jobs.queue;
  confirmDanger({
    title: words.retryAllTitle(n),
    body: words.retryAllBody,
    action: words.retryAll(n),
    onConfirm: async () => {
      const { runs } = await client.admin.failures.retryAll({ kind: "queue", file });
      notifyDone(words.retriedAll(runs));
      await refreshJobs();
    },
  });
}

export function refreshJobs(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["jobs"] });
}
