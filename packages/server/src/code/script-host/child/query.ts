/** The process that runs `db.query`: a single query at a time, on a connection that can only read. */
import { Channel, type ChannelMessage } from "../../../base/channel/index.ts";
import { AppError, isObject, messageOf } from "../../../base/kernel/index.ts";
import {
  ProcessReads,
  type QueryParameters,
  SchemaChanged,
  UserQueries,
  type Value,
} from "../../../store/database/index.ts";
import type { QueryHandlers, QueryMessage, QueryOptions } from "../query-pool.ts";

export function runQueries({ database, tables }: QueryOptions): void {
  let own: UserQueries | null = null;
  const queriesWith = (aliased: QueryMessage["aliased"]): UserQueries => {
    own ??= new UserQueries(database, tables);
    if (aliased !== undefined) own.alias(aliased);
    return own;
  };
  let views: ProcessReads | null = null;
  const channel = new Channel<object, QueryHandlers>((message) => process.send?.(message), {
    query: ({ sql, params, aliased }) => queriesWith(aliased).run(sql, parametersOf(JSON.parse(params))),
    show: ({ sql, limit, aliased }) => queriesWith(aliased).show(sql, limit),
    async view({ input, schemaVersion }) {
      views ??= new ProcessReads(database);
      // The process of a `db.query` does without the code of lists.
      const { runQuery } = await import("../../../data/queries/index.ts");
      try {
        return views.read(schemaVersion, (reader) =>
          JSON.stringify(runQuery(reader, JSON.parse(input), { isOnLoop: false })),
        );
      } catch (thrown) {
        if (thrown instanceof SchemaChanged) return null;
        if (thrown instanceof AppError) throw thrown;
        throw new AppError("internal_error", `The query of the view has failed: ${messageOf(thrown)}`);
      }
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
