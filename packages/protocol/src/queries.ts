/** Parameters and pages of list queries. */
import type { StoredRecord } from "./collections.ts";

/** The part of a record that is answered. */
export interface RecordSelection {
  /** Names and paths, with commas between them: `id,title,author.name`. Without it, all fields. */
  fields?: string;
  /** Relations, with commas between them: `author,comments(post)`. */
  expand?: string;
}

/** A query of a list. */
export interface RecordQuery extends RecordSelection {
  /** An expression of the filter language. */
  filter?: string;
  /** Names and paths, with commas between them, each with a `-` where the greatest come first. */
  sort?: string;
  /** From 1 to 1,000, which it is without one. */
  limit?: number;
  /** The `nextCursor` of the page before; null for the first page. */
  cursor?: string | null;
  /** Records that are left out; the slow way. */
  offset?: number;
  /** Asks for `total`. */
  count?: "exact";
  /** Words that the searched fields have, the best matches first: `word begin* "two words"`. */
  search?: string;
  /** Searched fields, with commas between them: the text around what was found comes as `snippet`, as HTML. */
  snippet?: string;
}

/** A query of groups: values that records share, and what is asked for over each group. */
export interface GroupQuery {
  /** Names and paths, with commas between them; of a datetime also with a unit: `status,createdAt:month`. */
  group?: string;
  /** With commas between them: `count,sum(points),avg(points),min(points),max(points)`. */
  aggregate?: string;
  filter?: string;
  /** Parts of `group` and `aggregate`, each with a `-` where the greatest come first. */
  sort?: string;
  /** From 1 to 1,000, which it is without one. */
  limit?: number;
  cursor?: string | null;
}

/** A page of groups: under each part of `group` and `aggregate` its value. */
export interface GroupPage<T = { [name: string]: string | number | boolean | null }> {
  items: T[];
  nextCursor: string | null;
}

/** A page of a query. */
export interface RecordPage<T = StoredRecord> {
  items: T[];
  /** Null on the last page. */
  nextCursor: string | null;
  /** How many match in all, where `count` asked for it. */
  total?: number;
}
