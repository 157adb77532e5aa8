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
  let turn: number | null = null;
  try {
    for (let times = 1; times <= maxTimes; times += 1) {
      const attempt: Attempt = new Attempt(calls, turn);
      const outcome = await outcomeOf(() => withinTime(work(attempt.tx), deadline));
      // An error may follow from a read that has changed.
      const change = "error" in outcome ? await attempt.change() : await attempt.commit();
      if ("value" in outcome && change === null) {
        if (attempt.hasWrites) turn = null;
        return outcome.value;
      }
      if ("error" in outcome && (change === null || performance.now() > deadline)) throw outcome.error;
      turn ??= change?.turn ?? ((await calls.call("db.turn", [change?.changed])) as number);
    }
  } finally {
    // A commit has ended the turn.
    if (turn !== null) await calls.call("db.leave", [turn]);
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
  readonly #turn: number | null;
  /** A read that would be answered otherwise now. */
  #change: Change | null = null;
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

  get hasWrites(): boolean {
    return this.#operations.length + this.#enqueue.length > 0;
  }

  /** Makes the writes. Answers null, or the change of a read. */
  async commit(): Promise<Change | null> {
    this.#isOver = true;
    if (this.#change !== null || !this.hasWrites) return this.change();
    const commit = { ...this.#state(), enqueue: this.#enqueue, turn: this.#turn };
    return changeIn(await this.#calls.call("db.commit", [jsonOf(commit)]));
  }

  /** A read that would be answered otherwise now; null if all reads are of one moment. The attempt is over. */
  async change(): Promise<Change | null> {
    this.#isOver = true;
    if (this.#change !== null || this.#recorder.reads.length === 0) return this.#change;
    return changeIn(await this.#calls.call("db.check", [jsonOf({ reads: this.#recorder.reads })]));
  }

  /** A read: all reads of the attempt are of one moment. */
  async #make(method: Read["method"], args: readonly string[]): Promise<string[]> {
    this.#admit();
    if (this.#operations.length > 0) return this.#makeOwn(method, args);
    const pieces = await this.#read(method, args);
    if (this.#recorder.hasMoved) {
      this.#recorder.hasMoved = false;
      const { reads } = this.#recorder;
      this.#note((await this.#calls.call("db.check", [jsonOf({ reads })])) as Change | Moment);
    }
    return pieces;
  }

  /** A read that sees the writes of the transaction. */
  async #makeOwn(method: Read["method"], args: readonly string[]): Promise<string[]> {
    const answer = (await this.#calls.call("db.own", [jsonOf(this.#state()), method, ...args])) as Change | Own;
    const { now, version, text } = this.#note(answer);
    this.#recorder.add({ method, args, version, hash: "" }, now);
    return [text];
  }

  #note<T extends Moment>(answer: Change | T): T {
    if ("changed" in answer) {
      this.#change = answer;
      throw changed;
    }
    this.#recorder.now = answer.now;
    return answer;
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
    if (this.#change !== null) throw changed;
    if (this.#isOver) throw errorOf("unavailable", "The transaction is over: await each call before the end.");
  }

  #state(): object {
    return { reads: this.#recorder.reads, operations: this.#operations, ids: this.#ids };
  }
}

/** A read would be answered otherwise now: the key of the turn, and the number of the turn if the transaction has the turn. */
interface Change {
  readonly changed: string;
  readonly turn: number | null;
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
