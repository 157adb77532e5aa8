/** Texts of the page of the slow queries. */

export const queries = {
  title: "Slow queries",
  note: "From the last 2,000 entries of the log since the start. A query is slow from `log.slowQuery` on (100 ms by default). Queries that differ only in their values form a group.",
  see: "All slow queries",
  collection: "Collection",
  shape: "Query",
  wholeList: "the whole list",
  times: "Times",
  median: "Median",
  longest: "Longest",
  last: "Last",
  index: "Proposed index",
  addOf: (fields: string, collection: string) => `Add the index ${fields} to ${collection}`,
  noIndex: "none",
  example: "Latest query",
  planOfLog: "Plan in the log",
  now: "Now",
  nowHint:
    "The query runs as you, without the rules of other users: the first page, with the present data and indexes.",
  measure: "Run again",
  before: "Plan before",
  after: "Plan after",
  added: "The index was added",
  empty: "No slow query",
  emptyBody:
    "Queries that take longer than log.slowQuery appear here, with SQLite's plan and the index that would help.",
};
