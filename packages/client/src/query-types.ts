/** Types of queries for callers: the steps of a query, reading, and live queries. The types by collections are the protocol's. */
import type { RecordPage } from "@socle/protocol";
import type {
  AggregatePart,
  ExpandedItem,
  ExpandPath,
  GroupItem,
  GroupPart,
  Order,
  SelectedItem,
  Selection,
  Steps,
} from "@socle/protocol/query";
import type { LiveQuery } from "./live-frames.ts";
import type { LiveOptions, LiveState } from "./live-types.ts";
import type { CallOptions } from "./transport.ts";

/** Reading without the paging. */
interface Reading<Item> {
  /** The query as a live query asks for the query: the same for equal queries. */
  asked(): LiveQuery;
  /** The first item, or null. @throws SocleError */
  first(options?: CallOptions): Promise<Item | null>;
  /** The items of all pages, page by page. @throws SocleError */
  all(options?: CallOptions): AsyncGenerator<Item, void>;
  /**
   * Calls back with the present result, and with each change. Answers the function that ends the query.
   * @throws Error for a client without `live`.
   */
  live(listener: (state: LiveState<Item>) => void, options?: LiveOptions): () => void;
}

/** A query: awaited, a page of items. Each method gives a new query, and leaves this query as the query is. */
export interface RecordsQuery<C, Name, Item, Page = RecordPage<Item>>
  extends QueryStart<C, Name, Item, Page>,
    PromiseLike<Page> {
  /** The page, as `await` gives the page. @throws SocleError */
  page(options?: CallOptions): Promise<Page>;
}

/** The first steps of a query: a collection has these steps, too. */
export interface QueryStart<C, Name, Item, Page = RecordPage<Item>>
  extends Steps<C, Name, RecordsQuery<C, Name, Item, Page>>,
    Reading<Item> {
  /** At most five names or paths: `orderBy("-createdAt", "project.name")`. */
  orderBy(...order: readonly Order<C, Name>[]): RecordsQuery<C, Name, Item, Page>;
  /** Reads these fields alone, and the id. A relation gives the record there, or null. */
  select<const S extends readonly Selection<C, Name>[]>(
    ...fields: S
  ): RecordsQuery<C, Name, SelectedItem<C, Name, readonly ["id", ...S]>>;
  /** Puts the records at these relations in the place of their ids. */
  expand<Paths extends ExpandPath<C, Name>>(
    ...relations: readonly Paths[]
  ): RecordsQuery<C, Name, ExpandedItem<C, Name, Paths, Item>>;
  /** Leaves out records at the beginning; the slow way of paging. */
  offset(records: number): RecordsQuery<C, Name, Item, Page>;
  /** The page after another page, by the `nextCursor` of that page. */
  after(cursor: string | null): RecordsQuery<C, Name, Item, Page>;
  /** Asks for `total`, the number of items of all pages. */
  withTotal(): RecordsQuery<C, Name, Item, Page & { total: number }>;
  /** The number of records. @throws SocleError */
  count(options?: CallOptions): Promise<number>;
  /** Groups of records with the same values: `group("status", "createdAt:month").aggregate("count", "sum(n)")`. */
  group<const Parts extends GroupPart<C, Name>>(...parts: readonly Parts[]): GroupsQuery<C, Name, Parts, never>;
  /** Counts and sums over all records, as a single group. */
  aggregate<const Parts extends AggregatePart<C, Name>>(...parts: readonly Parts[]): GroupsQuery<C, Name, never, Parts>;
}

/** A query of groups. */
export interface GroupsQuery<C, Name, Groups, Aggregates>
  extends Steps<C, Name, GroupsQuery<C, Name, Groups, Aggregates>>,
    Reading<GroupItem<C, Name, Groups, Aggregates>>,
    PromiseLike<RecordPage<GroupItem<C, Name, Groups, Aggregates>>> {
  orderBy(
    ...order: readonly ((Groups & string) | `-${Groups & string}` | (Aggregates & string) | `-${Aggregates & string}`)[]
  ): GroupsQuery<C, Name, Groups, Aggregates>;
  aggregate<const Parts extends AggregatePart<C, Name>>(
    ...parts: readonly Parts[]
  ): GroupsQuery<C, Name, Groups, Parts>;
  page(options?: CallOptions): Promise<RecordPage<GroupItem<C, Name, Groups, Aggregates>>>;
}
