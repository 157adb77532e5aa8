/** The shapes of `POST /api/batch`. */
import type { JsonValue, StoredRecord } from "./collections.ts";

/** The most operations of a batch. */
export const MAX_BATCH_OPERATIONS = 1_000;

/** In the place of an id: that of the record of an operation, counted from 0; as the `id` of an operation, of an earlier operation. */
export interface BatchReference {
  $ref: number;
}

/** The values of a record, with references at any depth. */
export interface BatchValues {
  [field: string]: JsonValue | BatchReference | BatchValues | (JsonValue | BatchReference | BatchValues)[] | undefined;
}

/** An operation of `POST /api/batch`. `ifMatch` is the version that the record must have, as in `If-Match`. */
export type BatchOperation<Values = BatchValues> =
  | { method: "create"; collection: string; body: Values }
  | { method: "update"; collection: string; id: string | BatchReference; ifMatch?: string; body: Values }
  | { method: "upsert"; collection: string; by: string; ifMatch?: string; body: Values }
  | { method: "delete"; collection: string; id: string | BatchReference; ifMatch?: string };

/** A finished operation: 201 with the new record, 200 with the changed record, 204 with null. */
export interface BatchResult {
  status: 201 | 200 | 204;
  body: StoredRecord | null;
}
