/** Reads of records in a script process, as calls to the service. A recorder may keep the reads. */
import { versionOf } from "@socle/protocol";
import { QueryBuilder, type QuerySource } from "@socle/protocol/query";
import { isObject } from "../../../base/kernel/index.ts";
import type { EarlierRecord } from "../../../data/records/index.ts";
import { AnswerHash, failureHash, type Read } from "../protocol.ts";
import { kindOf } from "./errors.ts";
import { type ServiceClient, ServiceError } from "./service-client.ts";

/** The most reads that a recorder keeps: a transaction or a hook that reads more fails. */
const maxReads = 1_000;

/** The reads of a transaction or a hook, which the service looks at again at the commit. */
export class ReadRecorder {
  readonly reads: Read[] = [];
  /** The moment of the last read, or of the last look at all reads. */
  now: string | null = null;
  /** Whether the reads since the last look are of several moments. */
  hasMoved = false;
  #usesEarlier = false;
  /** The frozen records that earlier operations of the batch have written. */
  written: readonly EarlierRecord[] = [];

  /** The records that earlier operations of the batch have made or changed, each as the last operation leaves the record. */
  earlier(): readonly object[] {
    this.#usesEarlier = true;
    const records = new Map(this.written.map(({ id, record }) => [id, record]));
    return [...records.values()].filter((record) => record !== null);
  }

  /** The part of an outcome that tells by what the hook has decided. */
  get seen(): { readonly reads?: readonly Read[]; readonly usesEarlier?: true } {
    return { ...(this.reads.length > 0 && { reads: this.reads }), ...(this.#usesEarlier && { usesEarlier: true }) };
  }

  /** @param now the moment of the read; null for a refused read. @throws Error beyond the bound. */
  add(read: Read, now: string | null): void {
    if (this.reads.length >= maxReads)
      throw new Error(
        `More than ${maxReads} reads: a transaction or a hook may make ${maxReads}. Read a list instead.`,
      );
    this.reads.push(read);
    if (now === null) return;
    this.hasMoved ||= this.now !== null && this.now !== now;
    this.now = now;
  }

  /** Takes over the reads of a transaction that was committed. */
  addAll(reads: readonly Read[]): void {
    for (const read of reads) if (read.after === 0) this.add(read, null);
  }

  /**
   * Drops the reads of collections that the hook itself has changed; and queries and reads under rules, which may look at any
   * collection.
   */
  forget(collections: readonly string[]): void {
    const isOther = ({ method, args, as }: Read): boolean =>
      method !== "db.query" && as === undefined && !collections.includes(args[0] ?? "");
    const kept = this.reads.filter(isOther);
    this.reads.splice(0, this.reads.length, ...kept);
  }
}

/** Codes of refused reads that others may be the reason of. */
const refusals: ReadonlySet<string> = new Set(["bad_request", "not_found", "unauthorized", "forbidden"]);

/** Refuses the calls of a transaction whose function is called again, because a read would be answered otherwise now. */
export const repeated = new ServiceError(true).fill({
  code: "conflict",
  message: "The transaction runs again, because a read value was changed.",
  retryAfter: 1,
});

/** Makes a read, and answers the pieces of the JSON. */
export type MakeRead = (method: Read["method"], args: readonly string[]) => Promise<string[]>;

/**
 * Reads that are calls to the service.
 * @param recorder keeps the reads; null for reads that nobody looks at again.
 * @param as see `CallMessage`.
 */
export function readsOf(calls: ServiceClient, recorder: ReadRecorder | null, as: string | undefined): MakeRead {
  return async (method, args) => {
    const hash = new AnswerHash();
    const pieces: string[] = [];
    let head = "";
    const take = (answer: unknown): void => {
      if (typeof answer !== "string") return;
      const end = answer.indexOf("\n");
      head ||= answer.slice(0, end);
      pieces.push(answer.slice(end + 1));
      if (recorder !== null) hash.add(answer.slice(end + 1));
    };
    try {
      take(await calls.ask(method, args, { as, ...(method === "db.list" && { onPart: take }) }));
    } catch (thrown) {
      const code = thrown instanceof ServiceError ? thrown.code : "";
      // A refusal may follow from records that others change.
      if (refusals.has(code)) recorder?.add({ method, args, as, version: "", hash: failureHash(code), after: 0 }, null);
      throw thrown;
    }
    if (recorder === null) return pieces;
    const [now = "", version = ""] = head.split(" ");
    recorder.add({ method, args, as, version, hash: hash.text, after: 0 }, now);
    return pieces;
  };
}

/** A collection of a `db`: the steps of queries, the reads, and the methods that write. */
export function collectionOf(make: MakeRead, name: string, writes: object): object {
  return Object.assign(new QueryBuilder(sourceOf(make), name), readMethods(make, name), writes);
}

/** The place that the queries of a `db` read from. */
function sourceOf(make: MakeRead): QuerySource {
  // A query that is awaited is read in a later turn, whose stack does not lead to the code.
  const origin = new Error();
  return {
    page: async (query, { signal }) => {
      signal?.throwIfAborted();
      try {
        return JSON.parse(
          (await make("db.page", [query.collection, searchOf({ limit: 1_000, ...query.parameters() })]))[0] ?? "",
        );
      } catch (thrown) {
        if (thrown instanceof Error && thrown !== repeated) thrown.stack += `\n${origin.stack}`;
        throw thrown;
      }
    },
    live: () => {
      throw new TypeError("A query of db has no live(): pages follow changes by live queries of the client");
    },
  };
}

/** The user of `db.as`, as calls name the user: see `CallMessage`. @throws TypeError for anything but a user, an id or null. */
export function callerOf(user: unknown): string {
  if (user === null) return "";
  const id = isObject(user) ? user["id"] : user;
  if (typeof id === "string" && id !== "") return id;
  throw new TypeError(`db.as needs a user, the id of a user, or null for nobody, not ${kindOf(user)}`);
}

/** In the place of `query` where rules apply. @throws TypeError. */
export function refuseQuery(): never {
  throw new TypeError("db.as(…) has no query(), because SQL knows no rules: use db.as(…).posts.where({ … })");
}

/** The members of a `db`, and each collection under its name. A member hides the collection of its name. */
export function withCollections<T extends { collection(name: string): object }>(members: T): T {
  return new Proxy(members, {
    get: (target, name) =>
      typeof name === "symbol" || name in target ? Reflect.get(target, name) : target.collection(name),
  });
}

/** The reads of a collection by parameters of lists and by id. */
export function readMethods(make: MakeRead, name: string): object {
  return {
    list: async (query: object = {}) => {
      const search = searchOf(query);
      if (search !== "") return listOf(JSON.parse((await make("db.page", [name, search]))[0] ?? "") as Page);
      const pieces = await make("db.list", [name]);
      return listOf({ items: pieces.flatMap((piece) => JSON.parse(piece) as unknown[]) });
    },
    get: async (id: string) => JSON.parse((await make("db.get", [name, id]))[0] ?? "null"),
  };
}

/** The rows of a SELECT. */
export async function query(make: MakeRead, sql: string, params: unknown = []): Promise<unknown> {
  return JSON.parse((await make("db.query", [sql, jsonOf(params)]))[0] ?? "[]");
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
export interface VersionOptions {
  readonly ifMatch?: string | { readonly id: string; readonly updatedAt: string };
}

export interface UpsertOptions extends VersionOptions {
  /** The unique field that finds the record. */
  readonly by?: unknown;
}

export function tagOf(options?: VersionOptions | null): string | null {
  const ifMatch = options?.ifMatch;
  return ifMatch === undefined || typeof ifMatch === "string" ? (ifMatch ?? null) : versionOf(ifMatch);
}

/** Objects are passed as JSON, as over HTTP: dates become strings, and a value without a JSON form is null. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** Freezes a value of JSON: the hooks of a batch share the earlier records, and a copy for each hook would cost more than the hook. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}
