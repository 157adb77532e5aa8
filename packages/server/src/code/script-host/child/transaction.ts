/**
 * `db.transaction` in a script process: runs the user's function with a `tx`, keeps the writes for the commit, and calls the
 * function again when a read would be answered otherwise at the commit.
 */
import type { ErrorCode } from "@socle/protocol";
import { newId } from "../../../base/kernel/index.ts";
import { hashOf, type Read } from "../protocol.ts";
import {
  callerOf,
  collectionOf,
  jsonOf,
  type MakeRead,
  query,
  ReadRecorder,
  readMethods,
  readsOf,
  refuseQuery,
  repeated,
  tagOf,
  type UpsertOptions,
  type VersionOptions,
  withCollections,
} from "./reads.ts";
import { type ServiceClient, ServiceError } from "./service-client.ts";

const maxTimes = 20;
const maxMs = 30_000;
const maxWrites = 1_000;
/** A read after n writes makes these writes on trial. */
const maxOwnCost = 20_000;

function errorOf(code: ErrorCode, message: string): ServiceError {
  return new ServiceError(true).fill({ code, message, retryAfter: 1 });
}

/** An error of the code, which the caller of an endpoint does not hear. */
function untold(message: string): ServiceError {
  return new ServiceError(false).fill({ code: "bad_request", message });
}

/** A copy: the code may change the values before the commit. */
function copyOf<T>(value: T): T {
  return JSON.parse(jsonOf(value)) as T;
}

/**
 * Runs `work` in a transaction, and answers the value of `work`. @throws the error of `work`, or `ServiceError`.
 * @param recorder of the hook that runs the transaction; null for any other handler.
 * @param given `as`: see `CallMessage`.
 */
export async function runTransaction(
  calls: ServiceClient,
  recorder: ReadRecorder | null,
  { work, as }: { readonly work: unknown; readonly as: string | undefined },
): Promise<unknown> {
  if (typeof work !== "function")
    throw new TypeError("db.transaction needs a function: db.transaction(async (tx) => { … })");
  const deadline = performance.now() + maxMs;
  let turn: number | null = null;
  try {
    for (let times = 1; times <= maxTimes; times += 1) {
      const attempt: TransactionAttempt = new TransactionAttempt(calls, { turn, as });
      const outcome = await outcomeOf(() => withinTime(work(attempt.tx), deadline));
      // An error may follow from a read that has changed.
      const change = "error" in outcome ? await attempt.change() : await attempt.commit();
      if ("value" in outcome && change === null) {
        if (attempt.hasWrites) turn = null;
        recorder?.addAll(attempt.reads);
        recorder?.forget(attempt.written);
        return outcome.value;
      }
      if ("error" in outcome && change === null) throw outcome.error;
      if (performance.now() > deadline) throw tooLate();
      turn = (await calls.call("db.turn", [change?.changed, turn])) as number;
    }
  } finally {
    // A commit has ended the turn.
    if (turn !== null) await calls.call("db.leave", [turn]);
  }
  throw errorOf(
    "conflict",
    `db.transaction: the reads of the transaction were changed by others ${maxTimes} times. Try again later.`,
  );
}

async function outcomeOf(work: () => Promise<unknown>): Promise<{ value: unknown } | { error: unknown }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** The value of a promise, or the error of a transaction whose time is up. */
async function withinTime(value: unknown, deadline: number): Promise<unknown> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooLate()), Math.max(0, deadline - performance.now()));
  try {
    return await Promise.race([value, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(): ServiceError {
  return errorOf("unavailable", `db.transaction: the transaction took longer than ${maxMs / 1_000} s.`);
}

/** The same functions, whose promises need no handler: a call that is over leaves promises that nobody waits for. */
function quiet<T extends object>(methods: T): T {
  const entries = Object.entries(methods).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      const answer: Promise<unknown> = method(...args);
      answer.catch(() => undefined);
      return answer;
    },
  ]);
  return Object.fromEntries(entries);
}

/** One call of the function, with the reads and the writes of the call. */
class TransactionAttempt {
  readonly tx: object;
  readonly #calls: ServiceClient;
  readonly #recorder = new ReadRecorder();
  readonly #operations: Operation[] = [];
  readonly #ids: (string | null)[] = [];
  readonly #callers: (string | null)[] = [];
  readonly #enqueue: object[] = [];
  readonly #mails: object[] = [];
  readonly #turn: number | null;
  /** A read that would be answered otherwise now. */
  #change: Change | null = null;
  /** The time of the writes that reads see; null before the first such read. */
  #at: number | null = null;
  /** The writes that reads have been made after, in all. */
  #ownCost = 0;
  #isOver = false;

  constructor(calls: ServiceClient, { turn, as }: { turn: number | null; as: string | undefined }) {
    this.#calls = calls;
    this.#turn = turn;
    this.tx = as === undefined ? this.#free() : this.#ruled(as);
  }

  /** The `tx` of code without rules. */
  #free(): object {
    const make = this.#readsBy(undefined);
    return withCollections({
      ...this.#collectionsBy(undefined),
      ...this.#effects(),
      ...quiet({ query: (sql: string, params?: unknown) => query(make, sql, params) }),
      as: (user: unknown) => this.#ruled(callerOf(user)),
    });
  }

  /** The `tx` under the rules of a user. @param as see `CallMessage`. */
  #ruled(as: string): object {
    return withCollections({ ...this.#collectionsBy(as), ...this.#effects(), query: refuseQuery });
  }

  /** The collections under the rules of a user. @param as see `CallMessage`. */
  #collectionsBy(as: string | undefined): { collection(name: string): object } {
    const make = this.#readsBy(as);
    return {
      collection: (name) =>
        collectionOf(make, name, quiet({ ...readMethods(make, name), ...this.#writes(name, as ?? null) })),
    };
  }

  /** The runs of queues and the mails of the commit. */
  #effects(): object {
    return {
      jobs: quiet({
        enqueue: async (name: string, payload: unknown = null, options: object | null = null) => {
          this.#admitWrite();
          this.#enqueue.push(copyOf({ ...options, name, payload }));
        },
      }),
      mail: quiet({
        send: async (mail: object) => {
          this.#admitWrite();
          this.#mails.push(copyOf(mail));
        },
      }),
    };
  }

  get reads(): readonly Read[] {
    return this.#recorder.reads;
  }

  /** The collections of the writes. */
  get written(): string[] {
    return this.#operations.map(({ collection }) => collection);
  }

  get hasWrites(): boolean {
    return this.#operations.length + this.#enqueue.length + this.#mails.length > 0;
  }

  /** Makes the writes. Answers null, or the change of a read. */
  async commit(): Promise<Change | null> {
    this.#isOver = true;
    if (this.#change !== null || !this.hasWrites) return this.change();
    const commit = { ...this.#state(), enqueue: this.#enqueue, mails: this.#mails, turn: this.#turn };
    return changeIn(await this.#calls.call("db.commit", [jsonOf(commit)]));
  }

  /** A read that would be answered otherwise now; null if all reads are of one moment. The attempt is over. */
  async change(): Promise<Change | null> {
    this.#isOver = true;
    if (this.#change !== null || this.#recorder.reads.length === 0) return this.#change;
    return changeIn(await this.#calls.call("db.check", [jsonOf({ reads: this.#recorder.reads })]));
  }

  /** Reads of the attempt, all of one moment. @param as see `CallMessage`. */
  #readsBy(as: string | undefined): MakeRead {
    const read = readsOf(this.#calls, this.#recorder, as);
    return async (method, args) => {
      this.#admit();
      if (this.#operations.length > 0) return this.#makeOwn({ method, args, as });
      const pieces = await read(method, args);
      if (this.#recorder.hasMoved) {
        this.#recorder.hasMoved = false;
        const { reads } = this.#recorder;
        this.#note((await this.#calls.call("db.check", [jsonOf({ reads })])) as Change | Moment);
      }
      return pieces;
    };
  }

  /** A read that sees the writes of the transaction. */
  async #makeOwn({ method, args, as }: Pick<Read, "method" | "args" | "as">): Promise<string[]> {
    const after = this.#operations.length;
    this.#ownCost += after;
    this.#at ??= Date.now();
    if (this.#ownCost > maxOwnCost)
      throw untold(
        `db.transaction: too many reads after writes (${maxOwnCost} writes read through). Read before the first write.`,
      );
    const asked = [jsonOf(this.#state()), method, ...args];
    const answer = (await this.#calls.call("db.own", asked, as)) as Change | Own;
    const { now, version, text } = this.#note(answer);
    this.#recorder.add({ method, args, as, version, hash: hashOf(text), after }, now);
    return [text];
  }

  #note<T extends Moment>(answer: Change | T): T {
    if ("changed" in answer) {
      this.#change = answer;
      throw repeated;
    }
    this.#recorder.now = answer.now;
    return answer;
  }

  /** @param as of the operations; null for operations without rules. */
  #writes(collection: string, as: string | null): object {
    return {
      create: async (body: object) => {
        const id = newId("rec", Date.now());
        this.#write({ method: "create", collection, body }, { id, as });
        return { ...body, id };
      },
      update: async (id: string, body: object, options?: VersionOptions) =>
        this.#write({ method: "update", collection, id, body, ifMatch: tagOf(options) }, { id: null, as }),
      upsert: async (body: object, options?: UpsertOptions) =>
        this.#write({ method: "upsert", collection, by: options?.by, body, ifMatch: tagOf(options) }, { id: null, as }),
      delete: async (id: string, options?: VersionOptions) =>
        this.#write({ method: "delete", collection, id, ifMatch: tagOf(options) }, { id: null, as }),
    };
  }

  #write(operation: Operation, { id, as }: { id: string | null; as: string | null }): void {
    this.#admitWrite();
    this.#operations.push(copyOf(operation));
    this.#ids.push(id);
    this.#callers.push(as);
  }

  /** Records, runs of queues and mails count together. */
  #admitWrite(): void {
    this.#admit();
    if (this.#operations.length + this.#enqueue.length + this.#mails.length >= maxWrites)
      throw untold(`db.transaction: a transaction has at most ${maxWrites} writes.`);
  }

  #admit(): void {
    if (this.#change !== null) throw repeated;
    if (this.#isOver) throw untold("The transaction is over: await each call before the end.");
  }

  #state(): object {
    const { reads } = this.#recorder;
    return { reads, operations: this.#operations, ids: this.#ids, callers: this.#callers, at: this.#at };
  }
}

/** A write, as an operation of a batch. */
interface Operation {
  readonly method: string;
  readonly collection: string;
  readonly id?: string;
  readonly by?: unknown;
  readonly body?: object;
  readonly ifMatch?: string | null;
}

/** A read would be answered otherwise now: the key of the turn. */
interface Change {
  readonly changed: string;
}

/** All reads are of this moment. */
interface Moment {
  readonly now: string;
}

/** The answer to a read that sees the writes of the transaction. */
interface Own extends Moment {
  readonly text: string;
  readonly version: string;
}

function changeIn(answer: unknown): Change | null {
  return "changed" in (answer as object) ? (answer as Change) : null;
}
