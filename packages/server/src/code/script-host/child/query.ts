/** The process that runs `db.query`: a single query at a time, on a connection that can only read. */
import { Channel, type ChannelMessage } from "../../../base/channel/index.ts";
import { AppError, isObject } from "../../../base/kernel/index.ts";
import { type QueryParameters, UserQueries, type Value } from "../../../store/database/index.ts";
import type { QueryHandlers, QueryOptions } from "../query-pool.ts";

export function runQueries({ database, tables }: QueryOptions): void {
  const queries = new UserQueries(database, tables);
  const channel = new Channel<object, QueryHandlers>((message) => process.send?.(message), {
    query: ({ sql, params, aliased }) => {
      if (aliased !== undefined) queries.alias(aliased);
      return queries.run(sql, parametersOf(JSON.parse(params)));
    },
  });
  process.on("message", (message: ChannelMessage) => channel.receive(message));
}

function parametersOf(given: unknown): QueryParameters {
  if (Array.isArray(given)) return given.map((value, i) => parameterOf(value, `parameter ${i + 1}`));
  if (isObject(given))
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, parameterOf(value, `:${name}`)]));
  throw new AppError("bad_request", "db.query: the parameters must be an array, or an object for :names.");
}

function parameterOf(value: unknown, name: string): Value {
  // Records keep booleans as 0 and 1.
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string" || typeof value === "number" || value === null) return value;
  throw new AppError("bad_request", `db.query: ${name} must be a string, a number, a boolean or null.`);
}
