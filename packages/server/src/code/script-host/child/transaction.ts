/**
 * `db.transaction` in a script process: runs the user's function with a `tx`, keeps the writes for the commit, and calls the
 * function again when a read would be answered otherwise at the commit.
 */
import type { ErrorCode } from "@socle/protocol";
import { newId } from "../../../base/kernel/index.ts";
import type { Read } from "../protocol.ts";
import {
  collectionReads,
  jsonOf,
  type MakeRead,
  query,
  ReadRecorder,
  readsOf,
  tagOf,
  type VersionOptions,
} from "./reads.ts";
import { type ServiceClient, ServiceError } from "./service-client.ts";

const maxTimes = 20;
const maxMs = 30_000;
const maxWrites = 1_000;

function errorOf(code: ErrorCode, message: string): ServiceError {
  return new ServiceError(true).fill({ code, message });
}

/** A read would be answered otherwise now: the function is called again. */
const changed = errorOf("conflict", "The transaction runs again, because something that it has read was changed.");

/** Runs `work` in a transaction, and answers the value of `work`. @throws the error of `work`, or `ServiceError`. */
export async function runTransaction(calls: ServiceClient, work: unknown): Promise<unknown> {
  if (typeof work !== "function")
    throw new TypeError("db.transaction needs a function: db.transaction(async (tx) => { … })");
  const deadline = performance.now() + maxMs;
  let key: string | null = null;
  for (let times = 1; times <= maxTimes; times += 1) {
    const turn: number | null = key === null ? null : ((await calls.call("db.turn", [key])) as number);
    const attempt = new Attempt(calls, turn);
    try {
      const outcome = await outcomeOf(() => withinTime(work(attempt.tx), deadline));
      // An error may follow from a read that has changed.
      key = "error" in outcome ? await attempt.changedKey() : await attempt.commit();
      if ("value" in outcome && key === null) return outcome.value;
      if ("error" in outcome && (key === null || performance.now() > deadline)) throw outcome.error;
    } finally {
      await attempt.end();
    }
  }
  throw errorOf(
    "conflict",
    `db.transaction: what the transaction reads was changed by others ${maxTimes} times. Try again later.`,
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
  const timer = setTimeout(
    () => late.reject(errorOf("unavailable", `db.transaction: the transaction took longer than ${maxMs / 1_000} s.`)),
    Math.max(0, deadline - performance.now()),
  );
  try {
    return await Promise.race([value, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** One call of the function, with the reads and the writes of the call. */
class Attempt {
  readonly tx: object;
  readonly #calls: ServiceClient;
  readonly #recorder = new ReadRecorder();
  readonly #operations: object[] = [];
  readonly #ids: (string | null)[] = [];
  readonly #enqueue: object[] = [];
  readonly #read: MakeRead;
  #turn: number | null;
  /** The key of a read that would be answered otherwise now. */
  #changed: string | null = null;
  #isOver = false;

  constructor(calls: ServiceClient, turn: number | null) {
    this.#calls = calls;
    this.#turn = turn;
    this.#read = readsOf(calls, this.#recorder);
    const make: MakeRead = (method, args) => this.#make(method, args);
    this.tx = {
      collection: (name: string) => ({ ...collectionReads(make, name), ...this.#writes(name) }),
      query: (sql: string, params?: unknown) => query(make, sql, params),
      jobs: {
        enqueue: async (name: string, payload: unknown = null, options: object = {}) => {
          this.#admit();
          this.#enqueue.push({ ...options, name, payload });
        },
      },
    };
  }

  /** Makes the writes. Answers null, or the key of a changed read. */
  async commit(): Promise<string | null> {
    this.#isOver = true;
    if (this.#changed !== null) return this.#changed;
    if (this.#operations.length === 0 && this.#enqueue.length === 0) return this.changedKey();
    const turn = this.#turn;
    this.#turn = null;
    return keyIn(await this.#calls.call("db.commit", [jsonOf({ ...this.#state(), enqueue: this.#enqueue, turn })]));
  }

  /** The key of a read that would be answered otherwise now; null if all reads are of one moment. */
  async changedKey(): Promise<string | null> {
    this.#isOver = true;
    if (this.#changed !== null || this.#recorder.reads.length === 0) return this.#changed;
    return keyIn(await this.#calls.call("db.check", [jsonOf({ reads: this.#recorder.reads })]));
  }

  /** Ends the turn, unless the commit has ended the turn. */
  async end(): Promise<void> {
    this.#isOver = true;
    if (this.#turn !== null) await this.#calls.call("db.leave", [this.#turn]);
  }

  /** A read: all reads of the attempt are of one moment. */
  async #make(method: Read["method"], args: readonly string[]): Promise<string[]> {
    this.#admit();
    if (this.#operations.length > 0) return this.#makeOwn(method, args);
    const pieces = await this.#read(method, args);
    if (this.#recorder.hasMoved) {
      this.#recorder.hasMoved = false;
      const { reads } = this.#recorder;
      this.#note((await this.#calls.call("db.check", [jsonOf({ reads })])) as Checked);
    }
    return pieces;
  }

  /** A read that sees the writes of the transaction. */
  async #makeOwn(method: Read["method"], args: readonly string[]): Promise<string[]> {
    const answer = (await this.#calls.call("db.own", [jsonOf(this.#state()), method, ...args])) as Checked & Own;
    this.#note(answer);
    this.#recorder.add({ method, args, version: answer.version, hash: "" }, answer.now ?? "");
    return [answer.text];
  }

  #note(answer: Checked): void {
    if (answer.changed !== undefined) {
      this.#changed = answer.changed;
      throw changed;
    }
    this.#recorder.now = answer.now ?? null;
  }

  #writes(collection: string): object {
    return {
      create: async (body: object) => {
        const id = newId("rec", Date.now());
        this.#write({ method: "create", collection, body }, id);
        return { ...body, id };
      },
      update: async (id: string, body: object, options?: VersionOptions) =>
        this.#write({ method: "update", collection, id, body, ifMatch: tagOf(options) }, null),
      delete: async (id: string, options?: VersionOptions) =>
        this.#write({ method: "delete", collection, id, ifMatch: tagOf(options) }, null),
    };
  }

  #write(operation: object, id: string | null): void {
    this.#admit();
    if (this.#operations.length >= maxWrites)
      throw errorOf("bad_request", `db.transaction: a transaction has at most ${maxWrites} writes.`);
    // A copy: the caller may change the values before the commit.
    this.#operations.push(JSON.parse(jsonOf(operation)) as object);
    this.#ids.push(id);
  }

  #admit(): void {
    if (this.#changed !== null) throw changed;
    if (this.#isOver) throw errorOf("unavailable", "The transaction is over: await each call before the end.");
  }

  #state(): object {
    return { reads: this.#recorder.reads, operations: this.#operations, ids: this.#ids };
  }
}

/** The answer to a look at reads: the moment, or the key of a changed read. */
interface Checked {
  readonly now?: string;
  readonly changed?: string;
}

/** The answer to a read that sees the writes of the transaction. */
interface Own {
  readonly text: string;
  readonly version: string;
}

function keyIn(answer: unknown): string | null {
  return (answer as Checked).changed ?? null;
}
