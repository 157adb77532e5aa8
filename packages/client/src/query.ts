/**
 * Queries as values: each step answers another query, and nothing is sent before a query is awaited, iterated or watched. The
 * types for callers are in `query-types.ts`.
 */
import type { GroupQuery, RecordPage, RecordQuery } from "@socle/protocol";
import { type FilterValue, filter } from "./filter.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { Live, LiveOptions, LiveState } from "./live-types.ts";
import { type Item, namesOf, type QueryParts, type Selected, shaperOf } from "./query-parts.ts";
import { searchOf } from "./search.ts";
import type { CallOptions, Transport } from "./transport.ts";
import { all, type Condition, filterOf } from "./where.ts";

/** The requests of a client, and the live queries. */
export interface Source {
  readonly transport: Transport;
  /** @throws Error for a client without live queries. */
  live(): Live;
}

/** The steps that make a query from a query or a collection. */
export class QueryBuilder {
  readonly source: Source;
  readonly collection: string;
  readonly parts: QueryParts;

  constructor(source: Source, collection: string, parts: QueryParts = { conditions: [] }) {
    this.source = source;
    this.collection = collection;
    this.parts = Object.freeze(parts);
  }

  where(condition: Condition): Query {
    return this.#with({ conditions: [...this.parts.conditions, condition] });
  }

  filter(text: string | TemplateStringsArray, ...values: readonly FilterValue[]): Query {
    const written = typeof text === "string" ? text : filter(text, ...values);
    return this.#with({ conditions: [...this.parts.conditions, written] });
  }

  orderBy(...sort: readonly string[]): Query {
    return this.#with({ sort });
  }

  select(...fields: Selected): Query {
    return this.#with({ fields: ["id", ...fields] });
  }

  expand(...expand: readonly string[]): Query {
    return this.#with({ expand });
  }

  search(search: string, options: { snippet?: readonly string[] } = {}): Query {
    return this.#with({ search, ...options });
  }

  group(...group: readonly string[]): Query {
    return this.#with({ group });
  }

  aggregate(...aggregate: readonly string[]): Query {
    return this.#with({ aggregate });
  }

  limit(limit: number): Query {
    return this.#with({ limit });
  }

  offset(offset: number): Query {
    return this.#with({ offset });
  }

  after(cursor: string | null): Query {
    return this.#with({ cursor });
  }

  withTotal(): Query {
    return this.#with({ count: "exact" });
  }

  async first(options?: CallOptions): Promise<Item | null> {
    return (await fetchPage(this.limit(1), options)).items[0] ?? null;
  }

  async count(options?: CallOptions): Promise<number> {
    const { conditions, search } = this.parts;
    const counted = new Query(this.source, this.collection, {
      conditions,
      ...(search && { search }),
      aggregate: ["count"],
    });
    return Number((await counted.first(options))?.["count"]);
  }

  async *all(options?: CallOptions): AsyncGenerator<Item, void> {
    for (let query: QueryBuilder = this; ; ) {
      const { items, nextCursor } = await fetchPage(query, options);
      yield* items;
      if (nextCursor === null) return;
      query = query.after(nextCursor);
    }
  }

  live(listener: (state: LiveState) => void, options?: LiveOptions): () => void {
    return this.source.live().watch(this, listener, options);
  }

  /** The query of a live subscription. */
  asked(): LiveQuery {
    return { collection: this.collection, ...this.parameters() };
  }

  /** The parameters of the request. */
  parameters(): RecordQuery & GroupQuery {
    const { conditions, fields, ...others } = this.parts;
    const texts = conditions.map((each) => (typeof each === "string" ? each.trim() : filterOf(each))).filter(Boolean);
    const filterText = all(texts.length > 1 ? texts.map((text) => `(${text})`) : texts);
    const lists = { ...others, fields: fields && namesOf(fields), filter: filterText || undefined };
    return Object.fromEntries(
      Object.entries(lists).map(([name, value]) => [name, Array.isArray(value) ? value.join() : value]),
    );
  }

  #with(changes: Partial<QueryParts>): Query {
    return new Query(this.source, this.collection, { ...this.parts, ...changes });
  }
}

/** A query. Awaiting a query sends the request and gives a page. */
export class Query extends QueryBuilder {
  page(options?: CallOptions): Promise<RecordPage<Item>> {
    return fetchPage(this, options);
  }

  then<A, B>(
    fulfilled?: ((page: RecordPage<Item>) => A | PromiseLike<A>) | null,
    rejected?: ((thrown: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.page().then(fulfilled, rejected);
  }
}

async function fetchPage(query: QueryBuilder, { signal }: CallOptions = {}): Promise<RecordPage<Item>> {
  // Any parameter makes the answer a page.
  const search = searchOf({ limit: 1_000, ...query.parameters() });
  const path = `/api/${encodeURIComponent(query.collection)}${search}`;
  const page = await query.source.transport.call<RecordPage<Item>>("GET", path, { signal });
  return { ...page, items: page.items.map(shaperOf(query.parts)) };
}
