/** The entry of a query thread: it runs the inputs of queries, beside plain statements. */
import { serveThread } from "../database/index.ts";
import type { QueryInput } from "./plan.ts";
import { runQuery } from "./run.ts";

// The inputs come from `Queries` alone, as JSON.
serveThread((reader, input) => runQuery(reader, JSON.parse(String(input)) as QueryInput, true));
