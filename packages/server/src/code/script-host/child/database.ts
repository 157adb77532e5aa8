/** The `db` of a handler: reads and writes of records as calls to the service. */
import { isObject } from "../../../base/kernel/index.ts";
import {
  callerOf,
  collectionOf,
  jsonOf,
  query,
  type ReadRecorder,
  readsOf,
  refuseQuery,
  tagOf,
  type UpsertOptions,
  type VersionOptions,
  withCollections,
} from "./reads.ts";
import type { ServiceClient } from "./service-client.ts";
import { runTransaction } from "./transaction.ts";

interface DatabaseParts {
  readonly calls: ServiceClient;
  /** See `ContextParts`. */
  readonly recorder: ReadRecorder | null;
  /** Whether the service refuses writes to the handler, which is a server query. */
  readonly onlyReads: boolean;
}

/** The `db` of a handler. */
export function databaseOf(parts: DatabaseParts): object {
  const make = readsOf(parts.calls, parts.recorder, undefined);
  return withCollections({
    ...membersOf(parts, undefined),
    query: (sql: string, params?: unknown) => query(make, sql, params),
    as: (user: unknown) => withCollections({ ...membersOf(parts, callerOf(user)), query: refuseQuery }),
  });
}

/** The members of a `db` for which rules can apply. @param as see `CallMessage`. */
function membersOf({ calls, recorder, onlyReads }: DatabaseParts, as: string | undefined): DatabaseMembers {
  const make = readsOf(calls, recorder, as);
  return {
    collection: (name) => {
      const call = (method: string, ...args: unknown[]): Promise<unknown> => {
        recorder?.forget([name]);
        return calls.call(`db.${method}`, [name, ...args], as);
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
    batch: async (operations, { enqueue } = {}) => {
      const sent = jsonOf({ operations: withTags(operations), enqueue });
      recorder?.forget(collectionsOf(operations));
      const results = (await calls.call("db.batch", [sent], as)) as { body: unknown }[];
      return results.map(({ body }) => body);
    },
    transaction: (work) =>
      onlyReads ? calls.call("db.transaction", []) : runTransaction(calls, recorder, { work, as }),
  };
}

interface DatabaseMembers {
  collection(name: string): object;
  batch(operations: unknown, options?: { enqueue?: unknown }): Promise<unknown[]>;
  transaction(work: unknown): Promise<unknown>;
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
