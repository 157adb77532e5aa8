/** The files of functions and jobs as the service has loaded the files, failures that no person has looked at yet, and the logs of runs. */
import type { LogEntry, ScriptFileEntry } from "@socle/protocol";
import { queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { client } from "./client.ts";
import { useLive } from "./live.ts";
import { Store, useStore } from "./store.ts";

/** The kinds with a page of their own; endpoints are among the functions. */
export type ScriptKind = Exclude<ScriptFileEntry["kind"], "endpoint">;

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
  return data?.filter((file) => (file.kind === "endpoint" ? "function" : file.kind) === kind);
}

const channels: { readonly [kind in ScriptKind]: string } = { function: "function.failed", job: "job.failed" };
const unseen = { function: new Store(0), job: new Store(0) };

/** Counts the runs that failed since their page was last open. @param isOpen whether the page is open now. */
export function useUnseenFailures(kind: ScriptKind, isOpen: boolean): number {
  useLive([channels[kind]], () => {
    if (!isOpen) unseen[kind].set(unseen[kind].get() + 1);
  });
  useEffect(() => {
    if (isOpen) unseen[kind].set(0);
  }, [kind, isOpen]);
  return useStore(unseen[kind]);
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
