/** The files of functions and jobs as the service has loaded the files, and failures that no person has looked at yet. */
import type { ScriptFileEntry } from "@socle/protocol";
import { queryOptions, useQuery } from "@tanstack/react-query";
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
