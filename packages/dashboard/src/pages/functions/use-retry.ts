/** Running failed functions again: one, or all of a page one after the other. */
import type { FunctionRun } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { notifyDone, notifyError } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { refreshFunctions } from "./queries.ts";

/** One run. An error is the caller's to show, in `error`. */
export function useRetry() {
  return useMutation({
    mutationFn: ({ runId }: FunctionRun) => client.admin.scripts.retryFunction(runId),
    onSuccess: () => notifyDone(text.functions.retryStarted),
    onSettled: refreshFunctions,
  });
}

export interface RetryAll {
  /** How many have been asked for; null when none is going on. */
  readonly done: number | null;
  start(runs: readonly FunctionRun[]): Promise<void>;
}

export function useRetryAll(): RetryAll {
  const [done, setDone] = useState<number | null>(null);
  const start = async (runs: readonly FunctionRun[]): Promise<void> => {
    const errors: unknown[] = [];
    for (const [at, { runId }] of runs.entries()) {
      setDone(at);
      // One that cannot be run again does not keep the others from it.
      await client.admin.scripts.retryFunction(runId).catch((error: unknown) => errors.push(error));
    }
    setDone(null);
    if (errors.length === 0) notifyDone(text.functions.retriedAll(runs.length));
    else notifyError(text.functions.retryAllFailed(errors.length, runs.length), errors[0]);
    await refreshFunctions();
  };
  return { done, start };
}
