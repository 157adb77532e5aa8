/**
 * Reads of the user's code: records, lists and queries. An answer begins with a line about the moment of the read, so that the
 * code can ask later whether the read would still be answered alike: a transaction and the hooks of a write ask at the commit.
 */
import { type RecordPage, USERS } from "@socle/protocol";
import { type Acting, AppError, BoundedMap, type System, system } from "../../base/kernel/index.ts";
import type { Collection, Collections } from "../../data/collections/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import { AnswerHash, failureHash, hashOf, type Read } from "./protocol.ts";
import type { QueryPool } from "./query-pool.ts";

/** Characters of JSON in a piece of a list, about. */
const pieceSize = 128 * 1024;
/** The time for which reads are made again outside of a transaction, in milliseconds. */
const refreshMs = 5_000;
/** The caller of reads that are made again, for the reader threads. */
const lookingAgain = "functions";
/** The most SQL texts with known tables. */
const maxTexts = 500;
/** Records of a whole list that a transaction reads after a write. */
const maxOwnRecords = 1_000;

const all = { access: "all" } as const;
/** Parameters of a list that reads by the same rules as a record, or a whole list. */
const anyList = "limit=1";

/** A read as code asks. */
type Asked = Pick<Read, "method" | "args" | "as">;

/** The code under the rules of a user, whose present role `CallerChecks.recheck` finds. @param as see `CallMessage`. */
export function actingAs(as: string, code: System): Acting {
  return { userId: as === "" ? null : as, role: "public", code };
}

interface ReadsOptions {
  readonly database: Database;
  readonly records: Records;
  readonly queries: Queries;
  readonly collections: Collections;
  readonly pool: QueryPool;
}

/** The bounds of a read: the pieces of a large answer, and the milliseconds that are left. */
interface Reading {
  readonly remainingMs: number;
  /** The file that reads; null when the service looks at a read again. */
  readonly file: string | null;
  /** The caller whose share of the reader threads the read takes. */
  readonly caller: string;
  /** Whether other writes wait for the read: a query that would have to wait for a process is refused. */
  readonly isUrgent: boolean;
  part(text: string): Promise<void>;
}

/** The answer of a read, without the line about the moment; of a whole list the last piece, after the other pieces. */
type Method = (args: readonly string[], reading: Reading & ByRules) => Promise<string> | string;

/** The rules of a read: the user of `db.as`, or the code, for which no rule applies. */
interface ByRules {
  readonly principal: System | Acting;
}

/** The reads that the user's code can make, by the name of the call. */
export class Reads {
  readonly #options: ReadsOptions;
  #tables: KnownTables | null = null;
  readonly #methods: { readonly [method in Read["method"]]: Method } = {
    "db.get": ([name = "", id = ""], reading) =>
      this.#options.collections.get(name) === undefined
        ? this.#ofView(name, id, reading)
        : JSON.stringify(this.#record(name, { principal: reading.principal, id })),
    "db.page": ([name = "", search = ""], reading) => this.#page(name, search, reading),
    "db.list": ([name = ""], reading) => this.#list(name, reading),
    "db.query": ([sql = "", params = ""], reading) => this.#query({ sql, params }, reading),
  };

  constructor(options: ReadsOptions) {
    this.#options = options;
  }

  /** Makes a read. @returns the line about the moment, and the JSON of the answer. @throws AppError. */
  async answer(asked: Asked, reading: Reading): Promise<string> {
    const { method, args } = asked;
    const principal = this.#principalOf(asked);
    let version = this.#version(asked);
    const { now } = this;
    const head = (): string => `${now} ${version ?? ""}\n`;
    const part = (text: string): Promise<void> => reading.part(head() + text);
    const text = await this.#methods[method](args, { ...reading, principal, part });
    // The tables of a query are known after the query.
    if (method === "db.query" && version === null && this.now === now) version = this.#version(asked);
    return head() + text;
  }

  /** Grows with each change of a record or a definition. */
  get now(): string {
    const { records, collections } = this.#options;
    return `${collections.epoch}.${records.versions.now}`;
  }

  /**
   * The key of the first read that would be answered otherwise now; null if each answer would be the same. Exact inside a long
   * transaction before the first change, because nothing is committed meanwhile.
   * @param until the time (`performance.now`) after which no read is made again: other versions then count as changed.
   */
  async changed(reads: readonly Read[], until: number): Promise<string | null> {
    return this.#firstChanged(reads, { until, isUrgent: true });
  }

  /**
   * As `changed`, in a short transaction before the first change; undefined where a read would have to be made again that is no
   * read of a single record.
   */
  changedIn(tx: Transactor, reads: readonly Read[]): string | null | undefined {
    const { records } = this.#options;
    for (const read of reads) {
      const isThere = this.#options.collections.get(read.args[0] ?? "") !== undefined;
      if (read.method === "db.get" && isThere) {
        if (this.#hashOfOwn(tx, read) !== read.hash) return this.keyOf(read);
      } else if (read.version === "" || records.hasChangedIn(tx) || this.#versionNow(read) !== read.version)
        return undefined;
    }
    return null;
  }

  /**
   * Looks at reads outside of a transaction, as a preparation for `changed`. Answers the reads with the versions of the look, or
   * the key of a changed read.
   */
  async refreshed(reads: readonly Read[]): Promise<{ readonly key: string } | { readonly reads: readonly Read[] }> {
    const until = performance.now() + refreshMs;
    const looked: Read[] = [];
    for (const read of reads) {
      const version = this.#versionNow(read);
      // Without a version, a look before the transaction says nothing.
      const isKnown = version === null || version === read.version || read.after > 0;
      if (!isKnown && !(await this.#isSame(read, { until, isUrgent: false }))) return { key: this.keyOf(read) };
      looked.push(isKnown ? read : { ...read, version });
    }
    return { reads: looked };
  }

  /** As `changed`, of one moment, outside of a transaction: null with that moment. */
  async changedOutside(reads: readonly Read[]): Promise<{ readonly key: string } | { readonly now: string }> {
    const until = performance.now() + refreshMs;
    for (;;) {
      const { now } = this;
      const key = await this.#firstChanged(reads, { until, isUrgent: false });
      if (key !== null) return { key };
      if (this.now === now) return { now };
      if (performance.now() > until) return { key: reads[0] === undefined ? "" : this.keyOf(reads[0]) };
    }
  }

  /** The version of everything that a read depends on; empty for a read without a version. */
  versionOf(asked: Asked): string {
    return this.#version(asked) ?? "";
  }

  /**
   * The data that the answer of a read depends on, by the present definitions; null for a read that may depend on anything. To be
   * asked after the read: the tables of a query are known then.
   */
  dependencies(asked: Asked): ReadDependencies | null {
    const { records, queries, collections } = this.#options;
    const {
      method,
      as,
      args: [name = "", text = ""],
    } = asked;
    if (method === "db.query") {
      const { tables, names } = this.#known();
      const nameOf = (table: string): string | undefined =>
        table === collections.users.table ? USERS : names.get(table);
      const read = tables.get(name)?.map(nameOf);
      if (read === undefined || read.includes(undefined)) return null;
      return { collections: read.filter((each) => each !== undefined), onTime: false };
    }
    const view = collections.getListed(name)?.definition.reads;
    const own: ReadDependencies = { collections: view ?? [name], onTime: false };
    if (method !== "db.page" && as === undefined) return own;
    try {
      const search = method === "db.page" ? text : anyList;
      const found = queries.prepare(records.listed(name), this.#principalOf(asked), search).query?.dependencies();
      return found === undefined ? own : { collections: [...found.collections.keys()], onTime: found.onTime };
    } catch (thrown) {
      // A query that is refused for its text, or for its collection, depends on the definitions alone.
      if (thrown instanceof AppError) return own;
      throw thrown;
    }
  }

  /** The tables of queries, and the names of the collections by table, by the present definitions. */
  #known(): KnownTables {
    const { collections } = this.#options;
    const { epoch } = collections;
    if (this.#tables?.epoch === epoch) return this.#tables;
    const names = new Map(collections.all().map(({ table, name }) => [table, name]));
    this.#tables = { epoch, names, tables: new BoundedMap(maxTexts) };
    return this.#tables;
  }

  /** A read with the changes of an open transaction. @throws AppError `bad_request` for a query, and a read of many rows. */
  own(tx: Transactor, asked: Asked): string {
    const { records, queries } = this.#options;
    const {
      method,
      args: [name = "", text = ""],
    } = asked;
    if (method === "db.query")
      throw new AppError(
        "bad_request",
        "db.query cannot see the writes of its transaction: make the query before the first write.",
      );
    const principal = this.#principalOf(asked, tx);
    if (method === "db.get") return JSON.stringify(this.#record(name, { principal, id: text }, tx));
    const collection = records.listed(name);
    collection.policies.read.admit(principal);
    const search = method === "db.page" ? text : `limit=${maxOwnRecords}`;
    const page = queries.pageIn(tx, queries.prepare(collection, principal, search), principal).text;
    if (method === "db.page") return page;
    const { items, nextCursor } = JSON.parse(page) as RecordPage;
    if (nextCursor === null) return JSON.stringify(items);
    throw new AppError(
      "bad_request",
      `After a write of the transaction, list() answers ${maxOwnRecords} records at most: use a limit, or make the read before the first write.`,
    );
  }

  async #firstChanged(reads: readonly Read[], look: Look): Promise<string | null> {
    for (const read of reads) if (!(await this.#isSame(read, look))) return this.keyOf(read);
    return null;
  }

  async #isSame(read: Read, { until, isUrgent }: Look): Promise<boolean> {
    const { method, args, version, hash } = read;
    if (version !== "" && this.#versionNow(read) === version) return true;
    const remainingMs = until - performance.now();
    if (read.after > 0 || remainingMs <= 0) return false;
    const hasher = new AnswerHash();
    const part = async (piece: string): Promise<void> => {
      if (performance.now() > until) throw tooLate();
      hasher.add(piece);
    };
    try {
      const principal = this.#principalOf(read);
      const reading = { remainingMs, file: null, caller: lookingAgain, isUrgent, part, principal };
      hasher.add(await this.#methods[method](args, reading));
      return hasher.text === hash;
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      return hash === failureHash(thrown.code);
    }
  }

  /** The present version; null for a read without a version, and where the collection is gone. */
  #versionNow(read: Read): string | null {
    try {
      return this.#version(read);
    } catch (thrown) {
      if (thrown instanceof AppError) return null;
      throw thrown;
    }
  }

  /** The rules of a read. @throws AppError `unauthorized` for a user who is gone. */
  #principalOf({ as }: Asked, reader?: Reader): System | Acting {
    return as === undefined ? system : this.#options.database.callers.recheck(actingAs(as, system), reader);
  }

  /** The hash of a read with the changes of an open transaction, also of a refused read. */
  #hashOfOwn(tx: Transactor, read: Read): string {
    try {
      return hashOf(this.own(tx, read));
    } catch (thrown) {
      if (thrown instanceof AppError) return failureHash(thrown.code);
      throw thrown;
    }
  }

  /** The version of everything that a read depends on; null for a read without a version: rules may look at anything. */
  #version({ method, args: [name = "", text = ""], as }: Asked): string | null {
    const { records, queries, collections } = this.#options;
    if (as !== undefined) return null;
    if (method === "db.page" || method === "db.list") {
      const collection = records.listed(name);
      return queries.state(collection, system, queries.prepare(collection, system, text)).version;
    }
    const names = method === "db.get" ? [name] : this.#collectionsOf(name);
    if (names === null) return null;
    const found = names.map((each) => collections.get(each)).filter((each) => each !== undefined);
    return found.length < names.length ? null : records.versions.of(new Map(found.map((each) => [each, all])), system);
  }

  /** A record; without rules null for a missing record. @throws AppError, with rules as over HTTP. */
  #record(name: string, asked: ByRules & { readonly id: string }, reader?: Reader): object | null {
    const { records, database } = this.#options;
    const collection = records.collection(name);
    try {
      return records.getIn(reader ?? database.reader, collection, asked);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === "not_found" && asked.principal === system) return null;
      throw thrown;
    }
  }

  /** A record of a view; without rules null for a missing record. @throws AppError as over HTTP. */
  async #ofView(name: string, id: string, { remainingMs, caller, principal }: Reading & ByRules): Promise<string> {
    const { queries, records } = this.#options;
    const view = records.listed(name);
    view.policies.read.admit(principal);
    const request = { principal, caller: () => caller, signal: signalAfter(remainingMs), search: "" };
    try {
      return (await queries.one(view, id, request)).json.text;
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === "not_found" && principal === system) return "null";
      throw thrown;
    }
  }

  async #page(name: string, search: string, { remainingMs, caller, principal }: Reading & ByRules): Promise<string> {
    const { records, queries } = this.#options;
    const collection: Collection = records.listed(name);
    collection.policies.read.admit(principal);
    const list = queries.prepare(collection, principal, search);
    if (list.query === null) throw new AppError("bad_request", `"${search}" has no parameter of a list.`);
    const waiter = { principal, caller: () => caller, signal: signalAfter(remainingMs) };
    return (await queries.page(collection, list, waiter)).text;
  }

  /** Sends a whole list in pieces, a piece after the process has taken the piece before. Answers the last piece. */
  async #list(name: string, { part, principal }: Reading & ByRules): Promise<string> {
    const { records, queries } = this.#options;
    let last: string | null = null;
    const pages = await queries.whole(records.listed(name), principal);
    const send = async (items: readonly object[]): Promise<void> => {
      for (const piece of piecesOf(items)) {
        if (last !== null) await part(last);
        last = piece;
      }
    };
    try {
      await send(pages.first);
      while (pages.rest !== null) {
        const next = await pages.rest.next();
        if (next.done === true) break;
        await send(next.value);
      }
    } finally {
      await pages.rest?.return();
    }
    return last ?? "[]";
  }

  async #query(query: { sql: string; params: string }, { remainingMs, file, isUrgent }: Reading): Promise<string> {
    const { pool } = this.#options;
    const { rows, tables } = await pool.query(query, { file, isUrgent, timeoutMs: Math.max(1, remainingMs) });
    this.#known().tables.set(query.sql, tables);
    return rows;
  }

  /** The key of the turn that conflicting work takes: the record, or the collection; of a query, the first collection that the query reads. */
  keyOf({ method, args: [name = "", id], after }: Read): string {
    if (method === "db.query") return this.#collectionsOf(name)?.[0] ?? `db.query ${name.replaceAll("/", " ")}`;
    // The id of a record that the transaction makes differs in each call.
    return method === "db.get" && after === 0 ? `${name}/${id}` : name;
  }

  /** The collections that a query reads; null for a query that reads other tables, too, or was not made. */
  #collectionsOf(sql: string): readonly string[] | null {
    const { tables, names } = this.#known();
    const read = tables.get(sql)?.map((table) => names.get(table));
    return read === undefined || read.includes(undefined) ? null : read.filter((name) => name !== undefined);
  }
}

/** Another definition may open other tables. */
interface KnownTables {
  readonly epoch: number;
  /** The tables that a query reads, by the text of the query. */
  readonly tables: BoundedMap<string, readonly string[]>;
  /** The names of the collections, by table. */
  readonly names: ReadonlyMap<string, string>;
}

/** The data that the answer of a read depends on: the collections, `users` included, and the passing of time. */
interface ReadDependencies {
  readonly collections: readonly string[];
  readonly onTime: boolean;
}

/** A look at reads: the time after which no read is made again, and whether other writes wait. */
interface Look {
  readonly until: number;
  readonly isUrgent: boolean;
}

function tooLate(): AppError {
  return new AppError("unavailable", "A read takes too long to be made again.");
}

/** Records as JSON arrays of about `pieceSize` characters. */
function* piecesOf(records: readonly object[]): Iterable<string> {
  for (let at = 0; at < records.length; ) {
    const piece: string[] = [];
    let size = 0;
    while (at < records.length && size < pieceSize) {
      const json = JSON.stringify(records[at]);
      size += json.length;
      piece.push(json);
      at += 1;
    }
    yield `[${piece.join(",")}]`;
  }
}

/** Makes a signal that is aborted when a read may take no longer. */
function signalAfter(ms: number): () => AbortSignal {
  return () => AbortSignal.timeout(Math.max(1, Math.ceil(ms)));
}
