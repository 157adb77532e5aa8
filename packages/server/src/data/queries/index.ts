/** Queries: lists with filters, order, pages, fields and expansions. */
export { type PreparedList, Queries, type QueryCaller } from "./queries.ts";
export { classOf, parseSubscriptionFilter } from "./read-scope.ts";
export { ShownFiles } from "./sql/file-uses.ts";
export type { LaterPages } from "./whole-list.ts";
