/** Batches of the client: operations with the types of the collections, and the request. */

import type { BatchReference, BatchResult, BatchValues, StoredRecord } from "@socle/protocol";
import type { CollectionTypes } from "@socle/protocol/query";

import { type CreateOf, type UniqueIn, type UpsertValues, type VersionOptions, versionText } from "./records.ts";
import type { OnceOptions, Transport } from "./transport.ts";

/** Values in which a reference may stand for an id, also in an array and in the arrays of operators. */
type WithReferences<Values> = { [Name in keyof Values]: Values[Name] | BatchReference | Referring<Values[Name]> };
type Referring<Value> = Value extends readonly (infer Item extends string)[]
  ? (Item | BatchReference)[]
  : Value extends { $add?: infer Items; $remove?: unknown }
    ? { $add?: Referring<Items>; $remove?: Referring<Items> }
    : never;

/** An operation on records of a collection. */
type OperationOn<Name extends string, Create, Update, By = string> =
  | { method: "create"; collection: Name; body: Create }
  | ({ method: "update"; collection: Name; id: string | BatchReference; body: Update } & VersionOptions)
  | ({ method: "upsert"; collection: Name; by: By; body: UpsertValues<Create, Update> } & VersionOptions)
  | ({ method: "delete"; collection: Name; id: string | BatchReference } & VersionOptions);

/** The operations of `SocleClient.batch`; the generated types of a project limit the collections to the project's. */
export type Operation<Collections extends { [name in keyof Collections]: CollectionTypes }> = [
  keyof Collections,
] extends [never]
  ? OperationOn<string, BatchValues, BatchValues>
  : {
      [Name in keyof Collections & string]: OperationOn<
        Name,
        WithReferences<CreateOf<Collections[Name]>>,
        WithReferences<Collections[Name]["update"]>,
        UniqueIn<Collections[Name]>
      >;
    }[keyof Collections & string];

/** The record that an operation answers. */
type RecordOf<Collections, Done> = Done extends { method: "delete" }
  ? null
  : Done extends { collection: infer Name extends keyof Collections }
    ? Collections[Name] extends { record: infer Found }
      ? Found
      : StoredRecord
    : StoredRecord;

/** The records of a batch, in the order of the operations; null for a delete. */
export type RecordsOf<Collections, Operations> = {
  -readonly [Index in keyof Operations]: RecordOf<Collections, Operations[Index]>;
};

/** Sends a batch. The caller's types give the shapes of the records. */
export async function sendBatch<Records>(
  transport: Transport,
  operations: readonly OperationOn<string, object, object>[],
  options?: OnceOptions,
): Promise<Records> {
  // A create has no version.
  const sent = operations.map((each: OperationOn<string, object, object> & VersionOptions) => {
    return { ...each, ifMatch: versionText(each.ifMatch) };
  });
  const { value } = await transport.writeOnce<{ results: BatchResult[] }>("/api/batch", { operations: sent }, options);
  return value.results.map(({ body }) => body) as Records;
}
