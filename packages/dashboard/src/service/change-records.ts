/**
 * Changes or deletes many records in batches. A batch is done as a whole or not at all: when the service refuses a record of a batch, or a
 * record is gone, each half of the batch is sent alone, down to a single record, so that each failure has its own reason.
 */
import { isGone } from "./refusals.ts";

/** The records of a batch: few, so that the progress is visible and other writes need not wait long. */
export const batchSize = 250;

export interface ChangeRequests {
  /** Changes all the records, or no record. */
  batch(ids: readonly string[]): Promise<unknown>;
  one(id: string): Promise<unknown>;
  /** Called with the ids that are about to be sent. */
  onStart(ids: readonly string[]): void;
  /** Called with the number of finished records, changed or not. */
  onProgress(done: number): void;
}

export interface Failure {
  readonly id: string;
  readonly reason: unknown;
}

/** Answers the records that were refused, each with its reason. A record that another person deleted is no failure. */
export async function changeRecords(ids: readonly string[], requests: ChangeRequests): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  let done = 0;
  const send = async (part: readonly string[]): Promise<void> => {
    const [id] = part;
    if (id === undefined) return;
    const [outcome] = await Promise.allSettled([part.length === 1 ? requests.one(id) : requests.batch(part)]);
    if (outcome.status === "rejected" && part.length > 1) {
      const half = Math.ceil(part.length / 2);
      await send(part.slice(0, half));
      await send(part.slice(half));
      return;
    }
    if (outcome.status === "rejected" && !isGone(outcome.reason)) failures.push({ id, reason: outcome.reason });
    done += part.length;
    requests.onProgress(done);
  };
  for (let from = 0; from < ids.length; from += batchSize) {
    const part = ids.slice(from, from + batchSize);
    requests.onStart(part);
    await send(part);
  }
  return failures;
}
