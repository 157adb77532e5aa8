/** The records that point to given records by a relation: a deletion would leave these relations without a target. */
import { client } from "./client.ts";
import { type PointingField, pointerFilter, pointingFields } from "./pointer-fields.ts";
import { collectionsQuery, queryClient } from "./queries.ts";

/** The number of a collection's records that point to the target by a given field. */
export interface Pointers {
  readonly collection: string;
  readonly field: string;
  readonly records: number;
}

/** The most ids in a filter, and the most ids to count for. */
const idsInFilter = 50;
const mostCounted = 200;

async function countOf({ collection, field }: PointingField, ids: readonly string[]): Promise<number> {
  let records = 0;
  for (let at = 0; at < ids.length; at += idsInFilter) {
    const filter = pointerFilter(field, ids.slice(at, at + idsInFilter));
    const query = { count: "exact", limit: 1, fields: "id", filter } as const;
    records += (await client.collection(collection).page(query)).total ?? 0;
  }
  return records;
}

/**
 * The records that point to given records of a collection, counted by field; unused fields are left out.
 * Null for too many ids.
 */
export async function countPointers(target: string, ids: readonly string[]): Promise<readonly Pointers[] | null> {
  const collections = await queryClient.ensureQueryData(collectionsQuery);
  const fields = pointingFields(collections, target);
  if (fields.length > 0 && ids.length > mostCounted) return null;
  const counted = await Promise.all(
    fields.map(async (field): Promise<Pointers> => ({ ...field, records: await countOf(field, ids) })),
  );
  return counted.filter(({ records }) => records > 0);
}
