/** Refusals of the service: missing objects and refused batches; and requests in parallel. */
import { SocleError } from "@socle/client";
import type { ErrorDetail } from "@socle/protocol";

/** The most problems that the service reports for a batch: at this number, the batch may have more problems. */
const mostTold = 1_000;

/**
 * The operations with refused values, by their number, each with its problems. The other operations may be sent again.
 * @returns null for any other error, and for an incomplete list: the caller then tries each operation alone.
 */
export function refusedOperations(error: unknown): ReadonlyMap<number, readonly ErrorDetail[]> | null {
  if (!(error instanceof SocleError) || error.code !== "validation_error") return null;
  if (error.details.length === 0 || error.details.length >= mostTold) return null;
  const refused = new Map<number, ErrorDetail[]>();
  for (const detail of error.details) {
    if (detail.operation === undefined) return null;
    const known = refused.get(detail.operation);
    if (known === undefined) refused.set(detail.operation, [detail]);
    else known.push(detail);
  }
  return refused;
}

/** Whether a batch might take a part of the values for a reference to another of its operations. */
export function mayReference(values: object): boolean {
  return JSON.stringify(values).includes('"$ref"');
}

/** Does the work on each item, some at a time, in their order. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

export function isGone(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}

/** The answer of a request; null for a thing that is gone. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}
