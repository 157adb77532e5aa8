/** The `db` of a handler: reads and writes of records as calls to the service. */
import { isObject } from "../../../base/kernel/index.ts";
import {
  collectionOf,
  jsonOf,
  query,
  type ReadRecorder,
  readsOf,
  tagOf,
  type UpsertOptions,
  type VersionOptions,
  withCollections,
} from "./reads.ts";
import type { ServiceClient } from "./service-client.ts";
import { runTransaction } from "./transaction.ts";

/** The `db` of a handler, with `transaction`, which the service refuses to a handler that only reads. */
export function databaseOf(calls: ServiceClient, recorder: ReadRecorder | null, onlyReads: boolean): object {
  const make = readsOf(calls, recorder);
  return withCollections({
    collection: (name: string) => {
      const call = (method: string, ...args: unknown[]): Promise<unknown> => {
        recorder?.forget([name]);
        return calls.call(`db.${method}`, [name, ...args]);
      };
      return collectionOf(make, name, {
        create: async (values: unknown) => call("create", jsonOf(values)),
        update: async (id: string, values: unknown, options?: VersionOptions) =>
          call("update", id, jsonOf(values), tagOf(options)),
        upsert: async (values: unknown, options?: UpsertOptions) =>
          call("upsert", options?.by, jsonOf(values), tagOf(options)),
        delete: (id: string, options?: VersionOptions) => call("delete", id, tagOf(options)),
      });
    },
    batch: async (operations: unknown, { enqueue }: { enqueue?: unknown } = {}) => {
      const sent = jsonOf({ operations: withTags(operations), enqueue });
      recorder?.forget(collectionsOf(operations));
      const results = (await calls.call("db.batch", [sent])) as { body: unknown }[];
      return results.map(({ body }) => body);
    },
    query: (sql: string, params?: unknown) => query(make, sql, params),
    transaction: (work: unknown) =>
      onlyReads ? calls.call("db.transaction", []) : runTransaction(calls, recorder, work),
  });
}

function collectionsOf(operations: unknown): string[] {
  const given: unknown[] = Array.isArray(operations) ? operations : [];
  return given.map((operation) => String((operation as { collection?: unknown } | null)?.collection));
}

/** The operations of a batch, with the `ETag` of the record that `ifMatch` is. The service checks the rest. */
export function withTags(operations: unknown): unknown {
  if (!Array.isArray(operations)) return operations;
  return operations.map((operation: VersionOptions | null) =>
    isObject(operation?.ifMatch) ? { ...operation, ifMatch: tagOf(operation) } : operation,
  );
}
