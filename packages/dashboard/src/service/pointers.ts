/** The records that point to some others by a relation: what a deletion would leave without a target. */
import { client } from "./client.ts";
import { type PointingField, pointerFilter, pointingFields } from "./pointer-fields.ts";
import { collectionsQuery, queryClient } from "./queries.ts";

/** How many records of a collection point there by one of its fields. */
export interface Pointers {
  readonly collection: string;
  readonly field: string;
  readonly records: number;
}

/** Ids that stand in one filter, and the most that are looked at. */
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
 * The records that point to some of a collection, counted by field; fields that none uses are left out.
 * Null where the ids are too many to be looked at.
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
