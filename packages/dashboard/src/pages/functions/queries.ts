/** Queries of the page of functions: handlers, their last failures, runs; and the retries of failed runs. */
import type { FunctionRun } from "@socle/protocol";
import { keepPreviousData, queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { confirmDanger, notifyDone, offsetOf, pageSize } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { FunctionSearch } from "../search.ts";
import { endpointHandlers, type HandlerEntry, isUnderWay } from "./runs-of.ts";

const { scripts } = client.admin;

/** Channels of the service with events about functions. */
export const functionChannels = ["function.started", "function.completed", "function.failed"] as const;

/** Interval between reads while a run waits or goes on: waiting runs send no event. */
const refreshMs = 3_000;

function refreshOf(runs: readonly FunctionRun[] | undefined): number | false {
  return runs?.some(isUnderWay) === true ? refreshMs : false;
}

/** The largest page of a list in the API. */
const most = 1_000;

export const handlersQuery = queryOptions({
  queryKey: ["functions", "handlers"],
  queryFn: async (): Promise<HandlerEntry[]> => {
    const [functions, endpoints] = await Promise.all([
      scripts.functions({ limit: most }),
      scripts.endpoints({ limit: most }),
    ]);
    return [...functions.items, ...endpoints.items.flatMap(endpointHandlers)];
  },
});

/** Number of failed runs that the page reads to find the last failure of each file. */
const failures = 200;

export const failuresQuery = queryOptions({
  queryKey: ["functions", "failures"],
  queryFn: async () => (await scripts.functionRuns({ status: "failed", limit: failures })).items,
});

/** Runs that the service tries again after a failure: neither failed for good nor completed. */
export const retriedQuery = queryOptions({
  queryKey: ["functions", "tried again"],
  queryFn: async () =>
    (await scripts.functionRuns({ status: "waiting", limit: failures })).items.filter(
      (run) => run.failures !== undefined,
    ),
  refetchInterval: refreshMs,
});

export function runListQuery({ status, file, page }: FunctionSearch) {
  return queryOptions({
    queryKey: ["functions", "runs", { status, file, page }],
    queryFn: () => scripts.functionRuns({ status, filePath: file, limit: pageSize, offset: offsetOf(page) }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshOf(state.data?.items),
  });
}

const nothing: readonly FunctionRun[] = [];

/**
 * The completed runs, to find the later end of a failed run. A failed end with `canRetry` is the newest end of its run, so
 * a list that has only failed ends with `canRetry` needs no request.
 */
export function useCompleted(runs: readonly FunctionRun[] | undefined, filePath?: string): readonly FunctionRun[] {
  const { data } = useQuery({
    queryKey: ["functions", "completed", filePath],
    queryFn: async () => (await scripts.functionRuns({ status: "completed", filePath, limit: most })).items,
    enabled: runs?.some(({ status, canRetry }) => status === "failed" && !canRetry) === true,
  });
  return data ?? nothing;
}

/** The number of runs that have failed for good and can be retried, on all pages of the list. */
export function retryableQuery(filePath: string | undefined) {
  return queryOptions({
    queryKey: ["functions", "retryable", filePath],
    queryFn: async () =>
      (await scripts.functionRuns({ status: "failed", filePath, limit: most })).items.filter(({ canRetry }) => canRetry)
        .length,
  });
}

/** Number of runs of the same file that the page reads to find a run. */
const nearby = 200;

/**
 * The API has no address for a single run. The query searches the newest runs of the file, or of all files when the file is unknown.
 */
export function runQuery(runId: string, filePath: string | undefined) {
  return queryOptions({
    queryKey: ["functions", "run", runId, filePath],
    queryFn: async () => {
      const { items } = await scripts.functionRuns({ filePath, limit: filePath === undefined ? most : nearby });
      return items.filter((run) => run.runId === runId);
    },
    refetchInterval: ({ state }) => refreshOf(state.data),
  });
}

function refreshFunctions(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["functions"] });
}

/** Retries a single run. The caller shows the `error`. */
export function useRetry() {
  return useMutation({
    mutationFn: ({ runId }: FunctionRun) => client.admin.scripts.retryFunction(runId),
    onSuccess: () => notifyDone(text.functions.retryStarted),
    onSettled: refreshFunctions,
  });
}

/**
 * Asks the user, and then retries all runs of functions that still count as failed, in the service: a retry repeats all effects of a run
 * before its error. @param n the failed runs that the user saw. @param file undefined for all files.
 */
export function askRetryAll(n: number, file: string | undefined): void {
  confirmDanger({
    title: text.functions.retryAllTitle(n),
    body: text.functions.retryAllBody,
    action: text.functions.retryAllAction(n),
    onConfirm: async () => {
      const { runs } = await client.admin.failures.retryAll({ kind: "function", file });
      notifyDone(text.functions.retriedAll(runs, Math.max(0, n - runs)));
      await refreshFunctions();
    },
  });
}
