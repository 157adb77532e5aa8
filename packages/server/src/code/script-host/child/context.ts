/** The context of a handler; `context-types.txt` declares the context to the user's editor. */
import type { RunInput } from "../protocol.ts";
import { databaseOf, withTags } from "./database.ts";
import type { AttemptScope, Output } from "./output.ts";
import { jsonOf, type ReadRecorder } from "./reads.ts";
import type { ServiceClient } from "./service-client.ts";

export interface ContextParts {
  readonly input: RunInput;
  readonly scope: AttemptScope;
  readonly calls: ServiceClient;
  /** Keeps the reads of a hook, with the earlier records of the batch; null for any other handler. */
  readonly recorder: ReadRecorder | null;
  /** Called when a server query looks at its caller; null for any other handler. */
  readonly onUser: (() => void) | null;
  readonly output: Output;
  /** The declared variables of the environment. */
  readonly env: object;
}

export function makeContext({ input, scope, calls, recorder, onUser, output, env }: ContextParts): object {
  const { runId, attempt, user, chain = [], earlier: _, ...about } = input;
  const context = {
    ...about,
    // The caller of an endpoint.
    ...(input.params !== undefined && { user }),
    ...(input.position !== undefined && { save: saveOf(calls) }),
    runId,
    attempt,
    signal: scope.signal,
    logger: output.loggerOf(scope),
    db: databaseOf({ calls, recorder, onlyReads: onUser !== null }),
    cause: { user, chain },
    auth: { user, users: usersOf(calls), ...accountsOf(calls) },
    storage: storageOf(calls),
    jobs: {
      enqueue: async (name: string, payload: unknown = null, options: unknown = null) =>
        calls.call("jobs.enqueue", [name, jsonOf(payload), jsonOf(options)]),
    },
    mail: { send: async (mail: unknown) => calls.call("mail.send", [jsonOf(mail)]) },
    env,
  };
  // A getter: a hook that does not look at the earlier records need not be asked again when these records change.
  if (recorder !== null) Object.defineProperty(context, "earlier", { get: () => recorder.earlier(), enumerable: true });
  if (onUser !== null) for (const holder of [context, context.auth, context.cause]) watchUser(holder, user, onUser);
  return context;
}

/** The value of a server query that does not look at its caller is the same for all callers. */
function watchUser(holder: object, user: object | null, onUser: () => void): void {
  const get = (): object | null => {
    onUser();
    return user;
  };
  Object.defineProperty(holder, "user", { get, enumerable: true, configurable: true });
}

/** Does operations, as `db.batch` does, and keeps a position of a migration, in one transaction. */
function saveOf(calls: ServiceClient): (operations: unknown, position: unknown) => Promise<unknown[]> {
  return async (operations, position) => {
    const kept: string | undefined = JSON.stringify(position);
    if (kept === undefined)
      throw new TypeError(`save needs a position that is JSON, such as null, not ${typeof position}`);
    const sent = jsonOf({ operations: withTags(operations) });
    const results = (await calls.call("migration.save", [sent, kept])) as { body: unknown }[];
    return results.map(({ body }) => body);
  };
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

function accountsOf(calls: ServiceClient): object {
  return {
    createSession: (userId: string) => calls.call("auth.createSession", [userId]),
    verifyPassword: (userId: string, password: string) => calls.call("auth.verifyPassword", [userId, password]),
    deleteUser: async (id: string) => void (await calls.call("auth.deleteUser", [id])),
    sendVerification: async (id: string) => void (await calls.call("auth.sendVerification", [id])),
    sendReset: async (id: string) => void (await calls.call("auth.sendReset", [id])),
    invite: async (email: string, data: unknown = null) => calls.call("auth.invite", [email, jsonOf(data)]),
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
