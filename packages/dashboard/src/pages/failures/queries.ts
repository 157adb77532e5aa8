/** The groups of failures, and their changes. */
import type { FailureGroup } from "@socle/protocol";
import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { confirmDanger, notifyDone, notifyError } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { FailureSearch } from "../search.ts";

/** The service keeps fewer groups. */
const most = 1_000;
/** Hooks and mails send no event; the progress of a retry is read often. */
const refreshMs = 10_000;
const retryMs = 1_000;

function intervalOf(groups: readonly FailureGroup[] = []): number {
  return groups.some(({ retry }) => retry?.status === "running") ? retryMs : refreshMs;
}

export function failuresQuery({ status: chosen, kind }: FailureSearch) {
  const status = chosen ?? "open";
  return queryOptions({
    queryKey: ["failures", "list", { status, kind }],
    queryFn: () => client.admin.failures.list({ status, kind, limit: most }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => intervalOf(state.data?.items),
  });
}

export function failureQuery(id: string) {
  return queryOptions({
    queryKey: ["failures", "one", id],
    queryFn: () => client.admin.failures.get(id),
    refetchInterval: ({ state }) => intervalOf(state.data === undefined ? [] : [state.data]),
  });
}

function refreshFailures(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["failures"] });
}

export type FailureAct = "resolve" | "mute" | "reopen";

/** The changes of status that a group can have. */
export function actsOf({ status }: FailureGroup): FailureAct[] {
  return status === "open" ? ["resolve", "mute"] : ["reopen"];
}

export function useFailureAct() {
  return useMutation({
    mutationFn: ({ id, act }: { id: string; act: FailureAct }) => client.admin.failures[act](id),
    onError: (error) => notifyError(text.failures.notChanged, error),
    onSettled: refreshFailures,
  });
}

/** Asks the user, and then retries the runs of a group. */
export function askRetry({ id }: FailureGroup): void {
  confirmDanger({
    title: text.failures.retryTitle,
    body: text.failures.retryBody,
    action: text.failures.retryAction,
    onConfirm: async () => {
      const { retry } = await client.admin.failures.retry(id);
      notifyDone(text.failures.retried(retry.total));
      await refreshFailures();
    },
  });
}
