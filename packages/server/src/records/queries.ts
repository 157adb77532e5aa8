import type { Collection, Collections } from "../collections/index.ts";
import type { Database } from "../database/index.ts";
import { BoundedMap, isAdmin, type Principal } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { Cursors } from "./cursor.ts";
import { Expander } from "./expand.ts";
import { indexAdvice } from "./index-advice.ts";
import { type ListQuery, parseListQuery } from "./list-query.ts";
import { modelOf } from "./model.ts";
import { PageReader, type RecordPage } from "./page.ts";
import type { QueryText } from "./query-text.ts";
import { Reach, type UserTable } from "./reach.ts";
import { parseSelection, type Selection } from "./selection.ts";
import { type Row, recordSource } from "./source.ts";

/** Queries that are remembered in their parsed form, and the longest text that is worth it. */
const maxQueries = 500;
const maxCharacters = 1_000;
/** How often a query is begun anew because a migration came in between. */
const maxAttempts = 5;

/** Thrown when the tables that are read are not those that the query was made for. */
class SchemaHasChanged extends Error {}

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

/** Lists that are filtered, sorted and cut into pages, and what is shown beside records. */
export class Queries {
  readonly #options: QueriesOptions;
  readonly #cursors: Cursors;
  readonly #parsed = new BoundedMap<string, ListQuery>(maxQueries);

  constructor(options: QueriesOptions) {
    this.#options = options;
    this.#cursors = new Cursors(options.cursorKey);
  }

  /** @throws AppError, see `parseListQuery`. */
  parse(collection: Collection, principal: Principal, text: QueryText): ListQuery {
    const { filter = "", sort = "", limit = "", offset = "", count = "", fields = "", expand = "" } = text;
    const caller = isAdmin(principal) ? "admin" : principal === null ? "nobody" : "user";
    const hasCursor = text.cursor === undefined ? "" : "cursor";
    const key = [collection.name, caller, filter, sort, limit, offset, count, fields, expand, hasCursor].join("\n");
    const known = this.#parsed.get(key);
    if (known !== undefined && this.#isCurrent(known, collection)) return known;
    const { collections, users } = this.#options;
    const query = parseListQuery(collection, text, new Reach({ collections, users, principal }));
    if (key.length <= maxCharacters) this.#parsed.set(key, query);
    return query;
  }

  /**
   * One page of a list.
   * @param countAll how many records the collection has.
   */
  async page(
    name: string,
    caller: { readonly principal: Principal; readonly text: QueryText; readonly signal: AbortSignal },
    {
      collectionOf,
      countAll,
    }: { collectionOf: (name: string) => Collection; countAll: (of: Collection) => Promise<number> },
  ): Promise<RecordPage> {
    const { principal, text, signal } = caller;
    for (let attempt = 1; ; attempt++) {
      const collection = collectionOf(name);
      const query = this.parse(collection, principal, text);
      const reader = new PageReader(query, {
        cursor: text.cursor ?? null,
        facts: { now: Date.now(), userId: principal?.userId ?? null },
        cursors: this.#cursors,
        countAll: () => countAll(collection),
      });
      try {
        return await this.#run(query, reader, signal);
      } catch (thrown) {
        if (!(thrown instanceof SchemaHasChanged) || attempt >= maxAttempts) throw thrown;
      }
    }
  }

  /** What of one record is answered. */
  selection(collection: Collection, principal: Principal, text: QueryText): Selection {
    const { collections, users } = this.#options;
    const reach = new Reach({ collections, users, principal });
    return parseSelection(recordSource(modelOf(collection), reach.accessTo(collection)), text, reach);
  }

  /** A record as a selection has it; null when it is gone. */
  async one(selection: Selection, principal: Principal, id: string): Promise<Row | null> {
    const { source, columns } = selection;
    const { reader } = this.#options.database;
    const row = await reader.get<Row>(`SELECT ${source.columns(columns)} FROM ${source.table} WHERE id = ?`, id);
    if (row === null) return null;
    const [record] = await new Expander(reader, principal?.userId ?? null).records(selection, [row]);
    return record ?? null;
  }

  async #run(query: ListQuery, page: PageReader, signal: AbortSignal): Promise<RecordPage> {
    const { database, collections, slowQueryMs } = this.#options;
    let took = 0;
    const answer = await database.query(
      query.kind,
      async (reader, place) => {
        // On the event loop, definitions and tables change in the same moment.
        if (place === "thread")
          for (const collection of query.reached.keys())
            if (!(await collections.isInForce(reader, collection))) throw new SchemaHasChanged();
        const start = performance.now();
        const found = await page.read(reader);
        took = performance.now() - start;
        return found;
      },
      signal,
    );
    if (took > slowQueryMs) await this.#logSlow(query, page, took);
    return answer;
  }

  async #logSlow(query: ListQuery, page: PageReader, took: number): Promise<void> {
    const { database, logger } = this.#options;
    const { sql, values } = page.statement;
    const steps = await database.reader.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    const { filter, sort } = query.text;
    logger.warn("A query was slow", {
      collection: query.collection.name,
      ms: Math.round(took),
      ...(filter === undefined ? {} : { filter }),
      ...(sort === undefined ? {} : { sort }),
      plan: steps.map(({ detail }) => detail).join("; "),
      index: indexAdvice(query),
    });
  }

  /** Whether what a query was made of is what is in force. */
  #isCurrent(query: ListQuery, collection: Collection): boolean {
    if (query.collection !== collection) return false;
    for (const reached of query.reached.keys())
      if (this.#options.collections.get(reached.name) !== reached) return false;
    return true;
  }
}
