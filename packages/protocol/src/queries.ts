/** Parameters and pages of list queries. */
import type { StoredRecord } from "./collections.ts";

/** The part of a record that is answered. */
export interface RecordSelection {
  /** Names and paths, separated by commas: `id,title,author.name`. Absent: all fields. */
  fields?: string;
  /** Relations, separated by commas: `author,comments(post)`. */
  expand?: string;
}

/** A query of a list. */
export interface RecordQuery extends RecordSelection {
  /** An expression of the filter language. */
  filter?: string;
  /** Names and paths, separated by commas; `-` before a name sorts in descending order. */
  sort?: string;
  /** 1 to 1,000; 1,000 by default. */
  limit?: number;
  /** The `nextCursor` of the page before; null for the first page. */
  cursor?: string | null;
  /** Records that are left out; the slow way. */
  offset?: number;
  /** Asks for `total`. */
  count?: "exact";
  /** Words that the searched fields have, the best matches first: `word begin* "two words"`. */
  search?: string;
  /** Searched fields, separated by commas: the text around the matches is answered as `snippet`, as HTML. */
  snippet?: string;
  /** The time zone of `@today` in `filter` and of the units in `group`, such as `Europe/Berlin`; by default UTC. */
  zone?: string;
}

/** The most collections of a search in several collections (`POST /api/query`). */
export const MAX_SEARCHED_COLLECTIONS = 10;

/** A query of groups: the values that the records of a group share, and the aggregates of each group. */
export interface GroupQuery {
  /** Names and paths, separated by commas; a datetime may have a unit: `status,createdAt:month`. */
  group?: string;
  /** Separated by commas: `count,sum(points),avg(points),min(points),max(points)`. */
  aggregate?: string;
  filter?: string;
  /** Words that the searched fields have; only the records that match are in a group. */
  search?: string;
  /** Parts of `group` and `aggregate`; `-` before a part sorts in descending order. */
  sort?: string;
  /** 1 to 1,000; 1,000 by default. */
  limit?: number;
  cursor?: string | null;
  /** The time zone of `@today` in `filter` and of the units in `group`, such as `Europe/Berlin`; by default UTC. */
  zone?: string;
}

/** A page of groups: under each part of `group` and `aggregate` the value. */
export interface GroupPage<T = { [name: string]: string | number | boolean | null }> {
  items: T[];
  nextCursor: string | null;
}

/** A page of a query. */
export interface RecordPage<T = StoredRecord> {
  items: T[];
  /** Null on the last page. */
  nextCursor: string | null;
  /** The number of all records that match, if `count` asked for the number. */
  total?: number;
}
