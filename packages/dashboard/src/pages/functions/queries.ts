/** Queries of the functions' page: handlers, their last failures, runs. */
import type { FunctionRun } from "@socle/protocol";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { offsetOf, pageSize } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { endpointHandlers, type HandlerEntry, isUnderWay } from "./runs-of.ts";
import type { FunctionSearch } from "./search.ts";

const { scripts } = client.admin;

/** Channels of the service that tell what functions do. */
export const functionChannels = ["function.started", "function.completed", "function.failed"] as const;

/** How often runs are read while one of them is not over: waiting ones bring no event. */
const refreshMs = 3_000;

function refreshOf(runs: readonly FunctionRun[] | undefined): number | false {
  return runs?.some(isUnderWay) === true ? refreshMs : false;
}

/** As many as a list of the API takes. */
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

/** Failed runs among which a file's last failure is looked for. */
const failures = 200;

export const failuresQuery = queryOptions({
  queryKey: ["functions", "failures"],
  queryFn: async () => (await scripts.functionRuns({ status: "failed", limit: failures })).items,
});

/** Runs that are tried again after a failure: they have not failed for good, and are no success either. */
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

/** Runs of the same file, among which a run is looked for. */
const nearby = 200;

/**
 * The API has no address for one run: it is looked for in the newest of its file, or of all when the file is unknown.
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

export function refreshFunctions(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["functions"] });
}
