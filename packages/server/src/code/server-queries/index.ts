/** Server queries: the files of `queries/`, names, and calls of handlers that only read. */
export { queryNameOf, serverQueryOf } from "./query-file.ts";
export { ServerQueries } from "./server-queries.ts";
