/**
 * Queries as values: each step answers another query, and nothing is read before a query is awaited, iterated or watched. The client
 * and the `db` of code in the service build queries by these steps. The types for callers are in `types.ts`.
 */
import type { GroupQuery, RecordPage, RecordQuery } from "../queries.ts";
import { filter } from "./filter.ts";
import { type Item, namesOf, type QueryParts, type Selected, shaperOf } from "./parts.ts";
import type { FilterValue } from "./types.ts";
import { all, type Condition, filterOf } from "./where.ts";

/** The parameters of a list. */
type Parameters = RecordQuery & GroupQuery;

interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The place that queries read from. */
export interface QuerySource {
  /** Reads the page of a query, by the `parameters` of the query and by `limit` without another: any parameter makes a list a page. */
  page(query: QueryBuilder, options: ReadOptions): Promise<RecordPage<Item>>;
  /** @throws Error for a source without live queries. */
  live(): { watch(query: QueryBuilder, listener: object, options?: ReadOptions): () => void };
}

/** The steps that make a query from a query or a collection. */
export class QueryBuilder<S extends QuerySource = QuerySource> {
  declare readonly source: S;
  declare readonly collection: string;
  declare readonly parts: QueryParts;

  constructor(source: S, collection: string, parts: QueryParts = { conditions: [] }) {
    this.source = source;
    this.collection = collection;
    this.parts = Object.freeze(parts);
  }

  where(condition: Condition): Query<S> {
    return this.#with({ conditions: [...this.parts.conditions, condition] });
  }

  filter(text: string | TemplateStringsArray, ...values: readonly FilterValue[]): Query<S> {
    const written = typeof text === "string" ? text : filter(text, ...values);
    return this.#with({ conditions: [...this.parts.conditions, written] });
  }

  orderBy(...sort: readonly string[]): Query<S> {
    return this.#with({ sort });
  }

  select(...fields: Selected): Query<S> {
    return this.#with({ fields: ["id", ...fields] });
  }

  expand(...expand: readonly string[]): Query<S> {
    return this.#with({ expand });
  }

  search(search: string, options?: { snippet?: readonly string[] }): Query<S> {
    return this.#with({ search, ...options });
  }

  zone(zone: string): Query<S> {
    return this.#with({ zone });
  }

  group(...group: readonly string[]): Query<S> {
    return this.#with({ group });
  }

  aggregate(...aggregate: readonly string[]): Query<S> {
    return this.#with({ aggregate });
  }

  limit(limit: number): Query<S> {
    return this.#with({ limit });
  }

  offset(offset: number): Query<S> {
    return this.#with({ offset });
  }

  after(cursor: string | null): Query<S> {
    return this.#with({ cursor });
  }

  withTotal(): Query<S> {
    return this.#with({ count: "exact" });
  }

  async first(options?: ReadOptions): Promise<Item | null> {
    return (await fetchPage(this.limit(1), options)).items[0] ?? null;
  }

  async count(options?: ReadOptions): Promise<number> {
    const { conditions, zone, search } = this.parts;
    const counted = this.#with({ aggregate: ["count"] }, { conditions, zone, search });
    return Number((await counted.first(options))?.["count"]);
  }

  async *all(options?: ReadOptions): AsyncGenerator<Item, void> {
    for (let query: QueryBuilder<S> = this; ; ) {
      const { items, nextCursor } = await fetchPage(query, options);
      yield* items;
      if (nextCursor === null) return;
      query = query.after(nextCursor);
    }
  }

  live(listener: object, options?: ReadOptions): () => void {
    return this.source.live().watch(this, listener, options);
  }

  /** The query of a live subscription. */
  asked(): Parameters & { readonly collection: string } {
    return { collection: this.collection, ...this.parameters() };
  }

  /** The parameters of the query. @throws TypeError for a condition with a value that the language does not have. */
  parameters(): Parameters {
    const { conditions, fields, ...others } = this.parts;
    const texts = conditions.map((each) => (typeof each === "string" ? each.trim() : filterOf(each))).filter(Boolean);
    const filterText = all(texts.length > 1 ? texts.map((text) => `(${text})`) : texts);
    const lists = { ...others, fields: fields && namesOf(fields), filter: filterText || undefined };
    return Object.fromEntries(
      Object.entries(lists).map(([name, value]) => [name, Array.isArray(value) ? value.join() : value]),
    );
  }

  #with(changes: Partial<QueryParts>, parts = this.parts): Query<S> {
    return new Query(this.source, this.collection, { ...parts, ...changes });
  }
}

/** A query. Awaiting a query sends the request and gives a page. */
export class Query<S extends QuerySource = QuerySource> extends QueryBuilder<S> {
  page(options?: ReadOptions): Promise<RecordPage<Item>> {
    return fetchPage(this, options);
  }

  then<A, B>(
    fulfilled?: ((page: RecordPage<Item>) => A | PromiseLike<A>) | null,
    rejected?: ((thrown: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.page().then(fulfilled, rejected);
  }
}

async function fetchPage(query: QueryBuilder, options: ReadOptions = {}): Promise<RecordPage<Item>> {
  const page = await query.source.page(query, options);
  return { ...page, items: page.items.map(shaperOf(query.parts)) };
}
