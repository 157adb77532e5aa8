/** The log entries of a run of a function or a job. */
import type { LogEntry } from "@socle/protocol";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { client } from "./client.ts";

const most = 200;
const refreshMs = 1_000;

/** @param isOpen whether the run goes on: then the log is read every second. */
export function useRunLog(runId: string, isOpen: boolean): UseQueryResult<readonly LogEntry[]> {
  return useQuery({
    // A run that has ended is read once more: its last entries come with its end.
    queryKey: ["run-log", runId, isOpen],
    queryFn: async () => (await client.admin.logs({ search: runId, limit: most })).items,
    staleTime: 0,
    refetchInterval: isOpen ? refreshMs : false,
    placeholderData: (old, query) => (query?.queryKey[1] === runId ? old : undefined),
  });
}
