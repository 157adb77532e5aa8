/** Live events of the service, for pages that show functions and jobs: calls, new reads, the files, the number of failures, the logs of runs. */
import { useThrottledCallback } from "@mantine/hooks";
import type { Event, LogEntry, ScriptFileEntry } from "@socle/protocol";
import { type QueryKey, queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client } from "./client.ts";
import { queryClient } from "./queries.ts";

/**
 * Calls `listener` with each event of the channels while the component is on the page.
 * @param channels whole names: the service has wildcards only for the channels of records.
 */
function useLive(channels: readonly string[], listener: (event: Event) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  const key = channels.join(" ");
  useEffect(() => {
    const stops = key.split(" ").map((channel) => client.subscribe(channel, (event) => latest.current(event)));
    return () => {
      for (const stop of stops) stop();
    };
  }, [key]);
}

const pauseMs = 500;

export function useLiveRefresh(channels: readonly string[], queryKeys: readonly QueryKey[]): void {
  const refresh = useThrottledCallback(() => {
    for (const queryKey of queryKeys) void queryClient.invalidateQueries({ queryKey });
  }, pauseMs);
  useLive(channels, refresh);
}

/** The kinds with a page of their own; endpoints and server queries are among the functions. */
export type ScriptKind = Exclude<ScriptFileEntry["kind"], "endpoint" | "query">;

const most = 1_000;
/** A reload of files sends no event: pages that show the files ask often, the navigation seldom. */
const shownMs = 2_000;
const hiddenMs = 15_000;

const scriptFilesQuery = queryOptions({
  queryKey: ["scripts", "files"],
  queryFn: async () => (await client.admin.scripts.files({ limit: most })).items,
  staleTime: 1_000,
});

/** The files of a kind; undefined until the files are known. */
export function useScriptFiles(kind: ScriptKind, isShown = true): readonly ScriptFileEntry[] | undefined {
  const { data } = useQuery({ ...scriptFilesQuery, refetchInterval: isShown ? shownMs : hiddenMs });
  return data?.filter((file) => (file.kind === "job" ? "job" : "function") === kind);
}

/** Channels of the service with events about failures. Hooks and mails send none. */
const failureChannels = ["function.failed", "job.failed"] as const;

/** The newest open groups of failures, and the number of all. */
export const openFailuresQuery = queryOptions({
  queryKey: ["failures", "open"],
  queryFn: () => client.admin.failures.list({ limit: 5, status: "open" }),
  refetchInterval: hiddenMs,
});

/** The number of open groups of failures. */
export function useOpenFailures(): number {
  useLiveRefresh(failureChannels, [["failures"]]);
  return useQuery(openFailuresQuery).data?.open ?? 0;
}

const mostEntries = 200;
const refreshMs = 1_000;

/** @param isOpen whether the run goes on: then the log is read every second. */
export function useRunLog(runId: string, isOpen: boolean): UseQueryResult<readonly LogEntry[]> {
  return useQuery({
    // A run that has ended is read once more: its last entries come with its end.
    queryKey: ["run-log", runId, isOpen],
    queryFn: async () => (await client.admin.logs({ search: runId, limit: mostEntries })).items,
    staleTime: 0,
    refetchInterval: isOpen ? refreshMs : false,
    placeholderData: (old, query) => (query?.queryKey[1] === runId ? old : undefined),
  });
}
