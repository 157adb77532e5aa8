/** The collection that a path names. */
import { isReservedCollectionName } from "@socle/protocol";
import type { Collection } from "../../collections/index.ts";
import { AppError } from "../../kernel/index.ts";
import type { Records } from "../../records/index.ts";

/**
 * The collection of a path. At the path of a name that the service keeps for itself there is nothing, rather than a collection that
 * is missing.
 * @throws AppError `not_found`.
 */
export function collectionOf(records: Records, name: string): Collection {
  try {
    return records.collection(name);
  } catch (thrown) {
    const isOwn = name !== "users" && isReservedCollectionName(name);
    throw isOwn ? new AppError("not_found", "There is nothing at this path.") : thrown;
  }
}
