import type { RecordPage } from "@socle/protocol";
import { type Collection, type Collections, ownerColumn } from "../collections/index.ts";
import type { Database, MigrationPlace, Reader } from "../database/index.ts";
import { BoundedMap, isAdmin, type Principal } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { type CursorPlace, Cursors, digestOf } from "./cursor.ts";
import { Expander } from "./expand.ts";
import { indexAdvice } from "./index-advice.ts";
import { type ListQuery, parseListQuery } from "./list-query.ts";
import { modelOf } from "./model.ts";
import { PageReader } from "./page.ts";
import { authorizeOwner } from "./permissions.ts";
import { Plans } from "./plans.ts";
import { type QueryText, readQueryText } from "./query-text.ts";
import { Reach, type UserTable } from "./reach.ts";
import { checkInForce, refuseOther } from "./schema-race.ts";
import { parseSelection } from "./selection.ts";
import { type Row, recordSource } from "./source.ts";

/** Queries that are remembered in their parsed form, and the longest text that is worth it. */
const maxQueries = 1_500;
const maxCharacters = 1_000;

/** The owner among the columns of one record. No field has such a name. */
const owned = "_owner";

export interface QueriesOptions {
  database: Database;
  collections: Collections;
  users: UserTable;
  /** Signs cursors. */
  cursorKey: () => string;
  logger: Logger;
  /** Queries that take longer, in milliseconds, are logged. */
  slowQueryMs: number;
}

/** What somebody asks for of a list. */
export interface PreparedList {
  /** As it was sent. */
  readonly search: string;
  /** Null for the whole list. */
  readonly query: ListQuery | null;
  /** Where the page begins; null for the first. */
  readonly place: CursorPlace | null;
}

/** Who asks for a page of which collection. */
export interface PageRequest {
  readonly name: string;
  readonly principal: Principal;
  /** A user id or an address: the share of the reader threads counts by it. */
  readonly caller: string;
  /** Aborted when nobody waits for the answer any more. Asked for only when that may take a while. */
  readonly signal: () => AbortSignal;
  /** The collection of a name, if the caller may still read it. */
  readonly collectionOf: (name: string) => Collection;
  readonly countAll: (collection: Collection) => Promise<number>;
}

/** What a cursor of a query belongs to. */
function scopeOf({ scope }: ListQuery, principal: Principal): string {
  return `${scope} ${principal?.userId ?? ""}`;
}

/** Who asks for one record. */
export interface OneRequest {
  readonly id: string;
  readonly principal: Principal;
  /** See `PageRequest`. */
  readonly caller: string;
  /** See `PageRequest`. */
  readonly signal: () => AbortSignal;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // What is no text is no cursor, and is refused as one.
    return text;
  }
}

/** Lists that are filtered, sorted and cut into pages, and what is shown beside records. */
export class Queries {
  readonly #options: QueriesOptions;
  readonly #cursors: Cursors;
  readonly #plans = new Plans();
  /** Hashes of what was asked for of late. */
  readonly #asked = new Uint32Array(4_096);
  /** By what was asked for, without its cursor; null where nothing of it makes a query. */
  readonly #prepared = new BoundedMap<string, ListQuery | null>(maxQueries);

  constructor(options: QueriesOptions) {
    this.#options = options;
    this.#cursors = new Cursors(options.cursorKey);
  }

  /**
   * What somebody asks for.
   * @param search the parameters as they were sent, percent-encoded.
   * @throws AppError, see `parseListQuery`.
   */
  prepare(collection: Collection, principal: Principal, search: string): PreparedList {
    if (search === "") return { search, query: null, place: null };
    // The next page is the same query with another cursor.
    const found = search.includes("cursor=") ? /(^|&)cursor=([^&]*)/.exec(search) : null;
    const mark = (found?.[2] ?? "") === "" ? "" : "1";
    const base = found === null ? search : search.replace(found[0], `${found[1]}cursor=${mark}`);
    const caller = isAdmin(principal) ? "admin" : principal === null ? "nobody" : "user";
    const key = `${collection.name} ${caller} ${base}`;
    let query = this.#prepared.get(key);
    if (query === undefined || (query !== null && !this.#isCurrent(query, collection))) {
      const text = readQueryText(new URLSearchParams(base));
      const { collections, users } = this.#options;
      query = text && parseListQuery(collection, text, new Reach({ collections, users, principal }));
      if (key.length <= maxCharacters && this.#isAskedAgain(key)) this.#prepared.set(key, query);
    }
    const given = decoded(found?.[2] ?? "");
    const cursor = given === "" ? query?.text.cursor : given;
    if (query === null || cursor === undefined) return { search, query, place: null };
    return { search, query, place: this.#cursors.read(cursor, scopeOf(query, principal)) };
  }

  /** One page of a list, read anew when a migration comes in between. */
  async page(list: PreparedList, options: PageRequest): Promise<RecordPage<Row>> {
    const { name, principal, caller, signal, collectionOf, countAll } = options;
    const { collections, database, slowQueryMs } = this.#options;
    let { query, place } = list;
    for (let attempt = 1; query !== null; attempt++) {
      const { reached } = query;
      const page = new PageReader(query, {
        place,
        scope: scopeOf(query, principal),
        context: { now: Date.now(), userId: principal?.userId ?? null },
        cursors: this.#cursors,
        plans: this.#plans,
        countAll,
      });
      const current = query;
      const work = async (reader: Reader, where: MigrationPlace): Promise<RecordPage<Row>> => {
        await checkInForce({ collections, reached: reached.keys() }, reader, where);
        const start = performance.now();
        const found = await page.read(reader, where);
        const took = performance.now() - start;
        if (took > slowQueryMs) this.#logSlow(current, took, await page.plan(reader));
        return found;
      };
      try {
        return await database.query(current.kind, work, { principal, caller, signal });
      } catch (thrown) {
        refuseOther(thrown, attempt);
        ({ query, place } = this.prepare(collectionOf(name), principal, list.search));
      }
    }
    throw new Error("The whole list has no pages");
  }

  /**
   * A record with what was asked for of it, read anew when a migration comes in between; null when it is gone.
   * @param collectionOf the collection, if the caller may still read it.
   * @throws AppError `forbidden` for a record of another owner; see `parseSelection`.
   */
  async one(text: QueryText, request: OneRequest, collectionOf: () => Collection): Promise<Row | null> {
    const { id, principal, caller, signal } = request;
    const { collections, users, database } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const collection = collectionOf();
      const reach = new Reach({ collections, users, principal });
      const selection = parseSelection(recordSource(modelOf(collection), reach.accessTo(collection)), text, reach);
      const { table } = selection.source;
      // The owner is read with the record: a right that was checked before may be another one by now.
      const sql = `SELECT ${selection.sql}, ${table}.${ownerColumn} AS ${owned} FROM ${table} WHERE id = ?`;
      const read = async (reader: Reader, where: MigrationPlace): Promise<Row | null> => {
        await checkInForce({ collections, reached: reach.reached.keys() }, reader, where);
        const found = await reader.get<Row>(sql, id);
        if (found === null) return null;
        const { [owned]: owner, ...row } = found;
        authorizeOwner(collection, "read", principal, typeof owner === "string" ? owner : null);
        const [record] = await new Expander(reader, principal?.userId ?? null).records(selection, [row]);
        return record ?? null;
      };
      try {
        return await database.query(digestOf(["one", selection.kind]), read, { principal, caller, signal });
      } catch (thrown) {
        refuseOther(thrown, attempt);
      }
    }
  }

  #logSlow(query: ListQuery, took: number, plan: readonly string[]): void {
    const { cursor, ...text } = query.text;
    this.#options.logger.warn("A query was slow", {
      collection: query.collection.name,
      ms: Math.round(took),
      ...text,
      ...(cursor === undefined ? {} : { page: "a later one" }),
      plan: plan.join("; "),
      index: indexAdvice(query),
    });
  }

  /** What is asked for once is not remembered: that would cost more than it saves. */
  #isAskedAgain(key: string): boolean {
    const hash = Bun.hash.crc32(key);
    const place = hash % this.#asked.length;
    const isKnown = this.#asked[place] === hash;
    this.#asked[place] = hash;
    return isKnown;
  }

  /** Whether what a query was made of is what is in force. */
  #isCurrent(query: ListQuery, collection: Collection): boolean {
    if (query.collection !== collection) return false;
    for (const reached of query.reached.keys())
      if (this.#options.collections.get(reached.name) !== reached) return false;
    return true;
  }
}
