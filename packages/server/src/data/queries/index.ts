/** Queries: lists with filters, search, groups, order, pages, fields and expansions; single records; the filters of subscriptions. */
export { type LiveList, LiveLists, type LivePage, type LiveParameters } from "./live-lists.ts";
export { type PreparedList, Queries, type QueryCaller } from "./queries.ts";
export { classOf, parseSubscriptionFilter } from "./read-scope.ts";
export { recordWeight } from "./search.ts";
export { ShownFiles } from "./sql/file-uses.ts";
export { runQuery } from "./sql/run.ts";
export type { LaterPages } from "./whole-list.ts";
