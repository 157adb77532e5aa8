/**
 * Deletes many records in batches. A batch is done as a whole or not at all: when the service refuses a record of a batch, or a record
 * is gone, the records of that batch are deleted singly, so that each failure has its own reason.
 */
import { inParallel, isGone } from "./refusals.ts";

/** The records of a batch: few, so that the progress is visible and other writes need not wait long. */
export const batchSize = 250;
const requestsAtOnce = 6;

export interface DeleteRequests {
  /** Deletes all the records, or no record. */
  batch(ids: readonly string[]): Promise<unknown>;
  one(id: string): Promise<unknown>;
  /** Called with the ids that are about to be deleted. */
  onStart(ids: readonly string[]): void;
  /** Called with the number of finished records, deleted or not. */
  onProgress(done: number): void;
}

export interface Failure {
  readonly id: string;
  readonly reason: unknown;
}

/** Answers the records that still exist, each with its reason. A record that another person deleted is no failure. */
export async function deleteRecords(ids: readonly string[], requests: DeleteRequests): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  let done = 0;
  const over = (count: number): void => {
    done += count;
    requests.onProgress(done);
  };
  const deleteOne = async (id: string): Promise<void> => {
    try {
      await requests.one(id);
    } catch (reason) {
      if (!isGone(reason)) failures.push({ id, reason });
    }
    over(1);
  };
  for (let from = 0; from < ids.length; from += batchSize) {
    const part = ids.slice(from, from + batchSize);
    requests.onStart(part);
    const isDone = part.length > 1 && (await succeeds(requests.batch(part)));
    if (isDone) over(part.length);
    else await inParallel(part, requestsAtOnce, deleteOne);
  }
  return failures;
}

async function succeeds(request: Promise<unknown>): Promise<boolean> {
  return request.then(
    () => true,
    () => false,
  );
}
