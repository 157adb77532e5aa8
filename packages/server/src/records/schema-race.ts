/** Reads on a thread that a migration overtakes: they are noticed, and begun anew. */
import type { Collection, Collections } from "../collections/index.ts";
import type { MigrationPlace, Reader } from "../database/index.ts";
import { AppError } from "../kernel/index.ts";

/** How often a query is begun anew because a migration came in between. */
const maxAttempts = 5;

/** Thrown when the tables that are read are not those that the query was made for. */
class SchemaHasChanged extends Error {}

/** Whether the tables that are read are those of the definitions. @throws SchemaHasChanged, for `refuseOther`. */
export async function checkInForce(
  { collections, reached }: { collections: Collections; reached: Iterable<Collection> },
  reader: Reader,
  where: MigrationPlace,
): Promise<void> {
  // On the event loop, definitions and tables change in the same moment.
  if (where === "here") return;
  for (const collection of reached)
    if (!(await collections.isInForce(reader, collection))) throw new SchemaHasChanged();
}

/** Throws all but the first few errors that say that a migration has come in between. */
export function refuseOther(thrown: unknown, attempt: number): void {
  if (!(thrown instanceof SchemaHasChanged)) throw thrown;
  if (attempt >= maxAttempts)
    throw new AppError("unavailable", "The definitions change too often to read by them; try again in a moment.");
}
