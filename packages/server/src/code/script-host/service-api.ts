/** The service's API for the user's code: `db`, `auth.users`, `storage` and `jobs` of a handler's context. */
import { type Operation, ROLES, type User, VISIBILITIES, type Visibility } from "@socle/protocol";
import {
  type Acting,
  AppError,
  actorOf,
  causeOf,
  isObject,
  oneOf,
  type Preview,
  quote,
  readChoice,
  type System,
  shareOf,
} from "../../base/kernel/index.ts";
import { admitOperation } from "../../data/permissions/index.ts";
import { parseBatch, type Records, type RecordVersion } from "../../data/records/index.ts";
import { cleanName, type Storage } from "../../files/storage/index.ts";
import { type Auth, ownCaller, type UserDeletions } from "../../people/auth/index.ts";
import { type GivenMail, type Mails, readMail, readMails } from "../../people/mail/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { CallAnswers, Caller } from "./call-transport.ts";
import type { CallMessage, Commit, Read, TransactionState } from "./protocol.ts";
import { actingAs, type Reads } from "./reads.ts";
import { Transactions } from "./transactions.ts";

/** The queues that the code adds runs to. */
interface QueueCalls {
  /** Adds a run with a payload as JSON. Answers the id of the run. */
  enqueue(name: string, run: { payload: string; options: unknown }, principal: System): Promise<string>;
  /** The runs that a transaction of the code adds. */
  forTransaction(value: unknown, principal: System): (tx: Transactor) => void;
  /** The runs that a batch adds, as work of the transaction. */
  forBatch(value: unknown, principal: System): (tx: Transactor, ids: readonly string[]) => void;
}

type Method = (principal: System, args: readonly unknown[], caller: Caller) => unknown;

/** The calls that read, with the names of the arguments. */
const readArguments: { readonly [method in Read["method"]]: readonly string[] } = {
  "db.get": ["collection", "id"],
  "db.page": ["collection", "query"],
  "db.list": ["collection"],
  "db.query": ["sql", "params"],
};
const methods = ["db.get", "db.page", "db.list", "db.query"] as const;
/** Users in an answer at most. */
const maxUsers = 1_000;

interface ServiceApiOptions {
  database: Database;
  records: Records;
  reads: Reads;
  auth: Auth;
  userDeletions: UserDeletions;
  storage: Storage;
  mails: Mails;
  queues: QueueCalls;
}

/**
 * Validation, events and the way to the database are as in the HTTP API; permission rules do not apply. Records are
 * passed as JSON text, so that nothing but JSON gets in or out.
 */
export class ServiceApi implements CallAnswers {
  readonly #options: ServiceApiOptions;
  readonly #transactions: Transactions;
  readonly #methods: ReadonlyMap<string, Method>;

  constructor(options: ServiceApiOptions) {
    this.#options = options;
    const enqueue = options.queues.forTransaction.bind(options.queues);
    this.#transactions = new Transactions({
      ...options,
      enqueue,
      sendMails: (value, principal) => this.#sending(readMails(value), principal),
    });
    this.#methods = new Map(
      Object.entries({
        ...this.#recordMethods(),
        ...this.#userMethods(),
        ...this.#accountMethods(),
        ...this.#fileMethods(),
        ...this.#jobMethods(),
        ...this.#mailMethods(),
      }),
    );
  }

  /** Objects are answered as JSON. @throws AppError with the code and details of the HTTP API. */
  async answer(call: CallMessage, caller: Caller): Promise<unknown> {
    const answered = caller.task.onCall?.(call);
    try {
      const method = this.#methods.get(call.method);
      if (method === undefined) throw new AppError("not_found", `There is no ${quote(call.method)}.`);
      const value = await method(caller.task.principal, call.args, caller);
      return typeof value === "object" && !(value instanceof Uint8Array) ? JSON.stringify(value) : value;
    } finally {
      answered?.();
    }
  }

  #recordMethods(): Record<string, Method> {
    const { records, queues } = this.#options;
    return {
      "db.get": this.#read("db.get"),
      "db.page": this.#read("db.page"),
      "db.list": this.#read("db.list"),
      "db.query": this.#read("db.query"),
      "db.create": async (code, [name, body], caller) => {
        const by = await this.#by(code, caller);
        const collection = this.#admitted("create", name, by);
        return (await records.create(collection, by, parsedObject(body, "The values"))).json.text;
      },
      "db.update": async (code, [name, id, body, ifMatch], caller) => {
        const by = await this.#by(code, caller);
        const collection = this.#admitted("update", name, by);
        const change = { record: versionOf(id, ifMatch), body: parsedObject(body, "The values") };
        return (await records.update(collection, by, change)).json.text;
      },
      "db.upsert": async (code, [name, by, values, ifMatch], caller) => {
        const principal = await this.#by(code, caller);
        const collection = this.#admitted("upsert", name, principal);
        const body = parsedObject(values, "The values");
        const upsert = { collection, by: text(by, "by"), body, ifMatch: tagOf(ifMatch), after: null };
        return (await records.upsert(principal, upsert)).json.text;
      },
      "db.delete": async (code, [name, id, ifMatch], caller) => {
        const by = await this.#by(code, caller);
        const collection = this.#admitted("delete", name, by);
        const remove = (): Promise<void> => records.delete(collection, by, versionOf(id, ifMatch));
        // Under rules, the caller is told as over HTTP.
        if (by === code) return (await nullIfMissing(remove)) !== null;
        await remove();
        return true;
      },
      "db.batch": async (code, [given], caller) => {
        const { enqueue, ...batch } = parsedObject(given, "operations");
        const runs = enqueue === undefined ? undefined : queues.forBatch(enqueue, code);
        const beside = { ...(runs !== undefined && { after: runs }) };
        return (await records.batch(await this.#by(code, caller), parseBatch(batch), beside)).text;
      },
      "db.check": ({ preview }, [json]) =>
        this.#transactions.check(rehearsed(preview, parsedObject(json, "reads") as unknown as TransactionState).reads),
      "db.own": (principal, [json, method, ...args], { as }) => {
        const state = rehearsed(principal.preview, parsedObject(json, "writes") as unknown as TransactionState);
        const read = { ...readOf(readChoice("method", method, methods), args), as };
        return this.#transactions.own(principal, state, read);
      },
      "db.commit": (principal, [json], caller) => {
        const commit = rehearsed(principal.preview, parsedObject(json, "writes") as unknown as Commit);
        return this.#transactions.commit(principal, commit, caller);
      },
      "db.turn": (_principal, [key, before], caller) =>
        this.#transactions.turn(text(key, "key"), before === null ? null : whole(before, "turn"), caller),
      "db.leave": (_principal, [turn]) => this.#transactions.leave(whole(turn, "turn")),
    };
  }

  /** The code, or the code under the rules of a user. @throws AppError `unauthorized` for a user who is gone. */
  async #by(code: System, { as }: Caller): Promise<System | Acting> {
    const { database } = this.#options;
    return as === undefined ? code : this.#view(code, (reader) => database.callers.recheck(actingAs(as, code), reader));
  }

  /** The name of a collection, for a caller who may do the operation on some record: refusals come in the order of HTTP. */
  #admitted(operation: Operation | "upsert", given: unknown, by: System | Acting): string {
    const { name, policies } = this.#options.records.collection(text(given, "collection"));
    admitOperation(policies, operation, by);
    return name;
  }

  #read(method: Read["method"]): Method {
    const { reads, database } = this.#options;
    return (principal, args, { remainingMs, part, task, as }) => {
      const asked = { ...readOf(method, args), as };
      if (principal.preview?.hasChanges === true) {
        const own = (tx: Transactor): string => `${reads.now} \n${reads.own(tx, asked)}`;
        return database.transactFor(principal, own);
      }
      return reads.answer(asked, {
        remainingMs,
        isUrgent: false,
        part,
        file: task.path,
        caller: shareOf(task.principal) ?? task.path,
      });
    };
  }

  /** Reads committed data; in a preview, the data with the changes of the preview. */
  #view<T>(principal: System, read: (reader?: Reader) => T): T | Promise<T> {
    return principal.preview === undefined ? read() : this.#options.database.transactFor(principal, read);
  }

  #userMethods(): Record<string, Method> {
    const { auth, database } = this.#options;
    const { users, forms, notices } = auth;
    return {
      "users.list": (principal, [options]) => {
        const { limit = 50, offset = 0 } = parsedObject(options, "options");
        const page = { limit: Math.min(whole(limit, "limit"), maxUsers), offset: whole(offset, "offset") };
        return this.#view(principal, (reader) => users.search({ ...page, order: "oldest" }, reader).items);
      },
      "users.get": (principal, [id]) => this.#view(principal, (reader) => users.find(text(id, "id"), reader)),
      "users.findByEmail": (principal, [email]) =>
        this.#view(principal, (reader) => users.findByEmail(text(email, "email"), reader)),
      "users.create": async (principal, [values]) => {
        const { role: asked = "authenticated", ...body } = parsedObject(values, "values");
        const role = readChoice("role", asked, ROLES);
        const { credentials, fields } = await forms.check(body, { creator: principal });
        const user = await users.prepare(credentials, { key: actorOf(principal) ?? "functions" });
        return database.transactFor(principal, (tx) => users.create(tx, { ...user, role, fields }, principal));
      },
      "users.setRole": async (principal, [id, role]) => {
        const change = { id: text(id, "id"), role: readChoice("role", role, ROLES) };
        return database.transactFor(principal, (tx) => users.setRole(tx, change, principal));
      },
      "users.setPassword": async (principal, [id, password]) => {
        const userId = text(id, "id");
        const caller = { key: actorOf(principal) ?? "functions" };
        const passwordHash = await users.preparePassword(text(password, "password"), caller);
        return database.transactFor(principal, (tx) => {
          const user = users.givePassword(tx, userId, passwordHash);
          notices.tell(tx, user, { change: "The password was changed.", by: "the service" });
          return user;
        });
      },
    };
  }

  #accountMethods(): Record<string, Method> {
    const { auth, database, userDeletions } = this.#options;
    const { users, signIns, proofs } = auth;
    /** Mails a user, in a transaction. */
    const mail = (principal: System, id: unknown, write: (tx: Transactor, user: User) => void): Promise<void> => {
      const userId = text(id, "id");
      return database.transactFor(principal, (tx) => write(tx, users.get(userId, tx)));
    };
    return {
      "auth.createSession": async (principal, [id]) => {
        refusePreview(principal, "auth.createSession");
        // The sign-in asks hooks, which would wait for this hook.
        if (principal.isHook) throw new AppError("bad_request", "auth.createSession: a hook opens no session.");
        const user = users.get(text(id, "userId"));
        return signIns.signIn({ user, caller: ownCaller, prove: (tx) => users.get(user.id, tx) });
      },
      "auth.verifyPassword": (principal, [id, password]) => {
        // A wrong password counts.
        refusePreview(principal, "auth.verifyPassword");
        const userId = text(id, "userId");
        return auth.checks.isUsersPassword(userId, text(password, "password"), { key: userId });
      },
      "auth.deleteUser": async (principal, [id]) => {
        await userDeletions.delete(text(id, "id"), principal, (tx) => (deleted) => {
          auth.notices.tell(tx, deleted, { change: "The account was deleted.", by: "the service" });
        });
        return null;
      },
      "auth.sendVerification": async (principal, [id]) => {
        await mail(principal, id, (tx, user) => {
          if (!user.verified) proofs.mailVerification(tx, user, ownCaller);
        });
        return null;
      },
      "auth.sendReset": async (principal, [id]) => {
        await mail(principal, id, (tx, user) => proofs.mailReset(tx, user, ownCaller));
        return null;
      },
      "auth.invite": async (principal, [email, data]) => {
        const body = { email: text(email, "email"), data: JSON.parse(text(data, "data")) };
        const invitation = await proofs.invitations.prepare(body, principal, ownCaller);
        return database.transactFor(principal, (tx) => invitation.write(tx));
      },
    };
  }

  #fileMethods(): Record<string, Method> {
    const { storage } = this.#options;
    return {
      "storage.get": (principal, [id]) => this.#view(principal, (reader) => storage.find(text(id, "id"), reader)),
      "storage.read": async (principal, [id]) => {
        const file = await this.#view(principal, (reader) => storage.find(text(id, "id"), reader));
        return file && (principal.preview?.files.get(file.id) ?? new Response(await storage.read(file, null)).bytes());
      },
      "storage.put": async (principal, [filename, data, visibility, owner]) => {
        if (!(data instanceof Uint8Array)) throw new AppError("bad_request", "storage.put: data must be bytes.");
        const name = cleanName(text(filename, "filename"));
        const values = { filename: name === "" ? "file" : name, visibility: visibilityOf(visibility) };
        const acting = await this.#actingFor(principal, owner);
        if (principal.preview !== undefined) {
          const file = await storage.rehearseStore(acting, { data, ...values });
          principal.preview.files.set(file.id, data);
          principal.preview.record({
            kind: "storage",
            method: "put",
            target: file.filename,
            body: `${file.size} bytes`,
            answer: file.id,
          });
          return file;
        }
        return storage.store(acting, async (upload) => {
          await upload.write(data);
          return values;
        });
      },
      "storage.delete": async (principal, [id]) => {
        const target = text(id, "id");
        const isDeleted = (await nullIfMissing(() => storage.delete(target, principal))) !== null;
        principal.preview?.record({ kind: "storage", method: "delete", target, body: null, answer: String(isDeleted) });
        return isDeleted;
      },
    };
  }

  /** The same principal, for files that belong to an owner; null for no owner. @throws AppError `bad_request`. */
  async #actingFor(principal: System, owner: unknown): Promise<System> {
    if (owner === null) return principal;
    const userId = text(owner, "owner");
    const user = await this.#view(principal, (reader) => this.#options.auth.users.find(userId, reader));
    if (user !== null) return { ...principal, userId };
    throw new AppError("bad_request", `owner ${quote(userId)} is no user.`);
  }

  #jobMethods(): Record<string, Method> {
    return {
      "jobs.enqueue": async (principal, [name, payload, options]) => {
        const run = { payload: text(payload, "payload"), options: JSON.parse(text(options, "options")) };
        return { runId: await this.#options.queues.enqueue(text(name, "name"), run, principal) };
      },
    };
  }

  #mailMethods(): Record<string, Method> {
    return {
      "mail.send": async (principal, [mail]) => {
        const work = this.#sending([readMail(JSON.parse(text(mail, "mail")))], principal);
        await this.#options.database.transactFor(principal, work);
        return null;
      },
      // The `fetch` of the code of a preview.
      "preview.fetch": ({ preview }, [method, target, body]) => {
        const call = { method: text(method, "method"), target: text(target, "target") };
        preview?.record({ kind: "fetch", ...call, body: body === null ? null : text(body, "body"), answer: "200 {}" });
        return null;
      },
    };
  }

  /** The mails of the code, as work of a transaction. */
  #sending(given: readonly GivenMail[], principal: System): (tx: Transactor) => void {
    return (tx) => {
      for (const mail of given) this.#options.mails.addGiven(tx, mail, causeOf(principal));
    };
  }
}

/** The reads of a transaction are not looked at again in a preview, where no other write is seen. */
function rehearsed<T extends TransactionState>(preview: Preview | undefined, state: T): T {
  return preview === undefined ? state : { ...state, reads: [] };
}

/** @throws AppError `bad_request` in a preview. */
function refusePreview({ preview }: System, method: string): void {
  if (preview !== undefined) throw new AppError("bad_request", `${method} cannot be called in a preview of a run.`);
}

/** The answer of the work; null when the work throws `not_found`. */
async function nullIfMissing<T>(work: () => T | Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === "not_found") return null;
    throw thrown;
  }
}

function text(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new AppError("bad_request", `${name} must be a string, not ${quote(value)}.`);
}

/** @throws AppError `bad_request` for an argument that is no text. */
function readOf(method: Read["method"], args: readonly unknown[]): Pick<Read, "method" | "args"> {
  return { method, args: readArguments[method].map((name, i) => text(args[i], name)) };
}

/** A record to change, and its required version. */
function versionOf(id: unknown, ifMatch: unknown): RecordVersion {
  return { id: text(id, "id"), ifMatch: tagOf(ifMatch) };
}

function tagOf(ifMatch: unknown): string | null {
  return ifMatch === null ? null : text(ifMatch, "ifMatch");
}

function whole(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  throw new AppError("bad_request", `${name} must be a whole number from 0, not ${quote(value)}.`);
}

function parsedObject(json: unknown, name: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text(json, name));
  if (isObject(value)) return value;
  throw new AppError("bad_request", `${name} must be an object, not ${quote(value)}.`);
}

function visibilityOf(value: unknown): Visibility {
  if (value === null) return "protected";
  const visibility = VISIBILITIES.find((each) => each === value);
  if (visibility !== undefined) return visibility;
  throw new AppError("bad_request", `visibility must be ${oneOf(VISIBILITIES)}, not ${quote(value)}.`);
}
