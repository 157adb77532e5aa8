/** Errors for a collection or a record that is not there. */
import type { Collection, Collections } from "../collections/index.ts";
import { AppError, quote } from "../kernel/index.ts";

/** The collection of a name. @throws AppError `not_found`. */
export function collectionNamed(collections: Collections, name: string): Collection {
  const collection = collections.get(name);
  if (collection === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
  return collection;
}

export function missingRecord(collection: Collection, id: string): AppError {
  return new AppError("not_found", `There is no record ${quote(id)} in "${collection.name}".`);
}
