/** Retries of failed functions: a single run, or all runs of a page in sequence. */
import type { FunctionRun } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { confirmDanger, notifyDone, notifyError } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { refreshFunctions, retryable } from "./queries.ts";

/** Retries a single run. The caller shows the `error`. */
export function useRetry() {
  return useMutation({
    mutationFn: ({ runId }: FunctionRun) => client.admin.scripts.retryFunction(runId),
    onSuccess: () => notifyDone(text.functions.retryStarted),
    onSettled: refreshFunctions,
  });
}

/** Asks the user, and then retries the runs that still count as failed: a retry repeats all effects of a run before its error. */
export function askRetryAll(runs: readonly FunctionRun[]): void {
  confirmDanger({
    title: text.functions.retryAllTitle(runs.length),
    body: text.functions.retryAllBody,
    action: text.functions.retryAllAction(runs.length),
    onConfirm: () => retryAll(runs),
  });
}

async function retryAll(runs: readonly FunctionRun[]): Promise<void> {
  const errors: unknown[] = [];
  const failed = await retryable(runs);
  // The loop continues after a run that cannot be retried.
  for (const { runId } of failed)
    await client.admin.scripts.retryFunction(runId).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) notifyError(text.functions.retryAllFailed(errors.length, failed.length), errors[0]);
  else notifyDone(text.functions.retriedAll(failed.length, runs.length - failed.length));
  await refreshFunctions();
}
