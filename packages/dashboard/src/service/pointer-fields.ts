/** The relations that point to a collection, and the filter that finds the records with these relations. */
import type { CollectionEntry } from "@socle/protocol";

/** Relations whose target is the collection. */
export interface PointingField {
  readonly collection: string;
  readonly field: string;
}

export function pointingFields(collections: readonly CollectionEntry[], target: string): readonly PointingField[] {
  return collections.flatMap(({ name, fields }) =>
    fields
      .filter(({ type, collection }) => type === "relation" && collection === target)
      .map(({ name: field }) => ({ collection: name, field })),
  );
}

/** The filter for the records whose field holds an id of the list. */
export function pointerFilter(field: string, ids: readonly string[]): string {
  const [first] = ids;
  if (ids.length === 1) return `${field} = ${JSON.stringify(first)}`;
  return `${field} in (${ids.map((id) => JSON.stringify(id)).join(", ")})`;
}
