/** The context of a handler; `context-types.txt` declares the context to the user's editor. */
import { versionOf } from "@socle/protocol";
import { isObject } from "../../../base/kernel/index.ts";
import type { RunInput } from "../protocol.ts";
import type { AttemptScope, Output } from "./output.ts";
import type { ServiceClient } from "./service-client.ts";

export interface ContextParts {
  readonly input: RunInput;
  readonly scope: AttemptScope;
  readonly calls: ServiceClient;
  readonly output: Output;
  /** The declared variables of the environment. */
  readonly env: object;
}

export function makeContext({ input, scope, calls, output, env }: ContextParts): object {
  const { runId, attempt, user, chain = [], ...about } = input;
  return {
    ...about,
    // The caller of an endpoint.
    ...(input.params !== undefined && { user }),
    runId,
    attempt,
    signal: scope.signal,
    logger: output.loggerOf(scope),
    db: databaseOf(calls),
    cause: { user, chain },
    auth: { user, users: usersOf(calls) },
    storage: storageOf(calls),
    jobs: {
      enqueue: async (name: string, payload: unknown = null, options: unknown = null) =>
        calls.call("jobs.enqueue", [name, jsonOf(payload), jsonOf(options)]),
    },
    env,
  };
}

function databaseOf(calls: ServiceClient): object {
  return {
    collection: (name: string) => {
      const call = (method: string, ...args: unknown[]): Promise<unknown> =>
        calls.call(`db.${method}`, [name, ...args]);
      return {
        list: async (query: object = {}) => {
          const search = searchOf(query);
          if (search !== "") return listOf((await call("page", search)) as Page);
          const records: unknown[] = [];
          await calls.call("db.list", [name], (page) => {
            for (const record of page as unknown[]) records.push(record);
          });
          return listOf({ items: records });
        },
        get: (id: string) => call("get", id),
        create: async (values: unknown) => call("create", jsonOf(values)),
        update: async (id: string, values: unknown, options?: VersionOptions) =>
          call("update", id, jsonOf(values), tagOf(options)),
        delete: (id: string, options?: VersionOptions) => call("delete", id, tagOf(options)),
      };
    },
    batch: async (operations: unknown, { enqueue }: { enqueue?: unknown } = {}) => {
      const sent = jsonOf({ operations: withTags(operations), enqueue });
      const results = (await calls.call("db.batch", [sent])) as { body: unknown }[];
      return results.map(({ body }) => body);
    },
    query: async (sql: string, params: unknown = []) => calls.call("db.query", [sql, jsonOf(params)]),
  };
}

/** A list in the shape of the HTTP API. */
interface Page {
  readonly items: unknown[];
  readonly nextCursor?: string | null;
  readonly total?: number;
}

/** An array, as the client library answers a list, with the names that the HTTP API gives the parts. */
function listOf(page: Page): unknown[] {
  for (const [name, value] of Object.entries(page)) Object.defineProperty(page.items, name, { value });
  return page.items;
}

/** The parameters of a list, as an address has parameters, without parameters that are null or undefined. */
function searchOf(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== null && value !== undefined) search.set(name, String(value));
  return String(search);
}

/** The version that a record must have: an `ETag`, or the record as read before. */
interface VersionOptions {
  readonly ifMatch?: string | { readonly id: string; readonly updatedAt: string };
}

function tagOf({ ifMatch }: VersionOptions = {}): string | null {
  return ifMatch === undefined || typeof ifMatch === "string" ? (ifMatch ?? null) : versionOf(ifMatch);
}

/** The operations of a batch, with the `ETag` of the record that `ifMatch` is. The service checks the rest. */
function withTags(operations: unknown): unknown {
  if (!Array.isArray(operations)) return operations;
  return operations.map((operation: VersionOptions | null) =>
    isObject(operation?.ifMatch) ? { ...operation, ifMatch: tagOf(operation) } : operation,
  );
}

function usersOf(calls: ServiceClient): object {
  return {
    list: async (options: unknown = {}) => calls.call("users.list", [jsonOf(options)]),
    get: (id: string) => calls.call("users.get", [id]),
    findByEmail: (email: string) => calls.call("users.findByEmail", [email]),
    create: async (values: unknown) => calls.call("users.create", [jsonOf(values)]),
    setRole: (id: string, role: string) => calls.call("users.setRole", [id, role]),
    setPassword: (id: string, password: string) => calls.call("users.setPassword", [id, password]),
  };
}

function storageOf(calls: ServiceClient): object {
  return {
    get: (id: string) => calls.call("storage.get", [id]),
    delete: (id: string) => calls.call("storage.delete", [id]),
    read: (id: string) => calls.call("storage.read", [id]),
    put: async (file: { filename: string; data: unknown; visibility?: string; owner?: string | null }) => {
      const data = await bytesOf(file?.data);
      const { filename, visibility = null, owner = null } = file;
      return calls.call("storage.put", [filename, data, visibility, owner]);
    },
  };
}

async function bytesOf(data: unknown): Promise<Uint8Array> {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (data instanceof Blob) return data.bytes();
  throw new TypeError("storage.put needs data: a string, Uint8Array, ArrayBuffer or Blob");
}

/** Objects are passed as JSON, as over HTTP: dates become strings, and a value without a JSON form is null. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}
