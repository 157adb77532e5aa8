/** Calls of server queries by name: `socle.queries.board({ project: id })`. */
import type { LiveQuery, LiveServerQuery } from "./live-frames.ts";
import type { LiveOptions, LiveValue } from "./live-types.ts";
import { searchOf } from "./search.ts";
import type { Source } from "./source.ts";
import type { CallOptions } from "./transport.ts";

/** A call of a server query: awaited, the value. */
export interface ServerQuery<Value> extends PromiseLike<Value> {
  /** The call as a live query asks for the call: the same for equal calls. */
  asked(): LiveQuery;
  /** @throws SocleError */
  run(options?: CallOptions): Promise<Value>;
  /** Calls back with the present value, and with each change. Answers the function that ends the query. */
  live(listener: (state: LiveValue<Value>) => void, options?: LiveOptions): () => void;
}

/** The server queries of a project, by name. */
export type QueryCalls<Queries> = {
  readonly [Name in keyof Queries]: Queries[Name] extends { args: infer Args; value: infer Value }
    ? (
        ...args: unknown extends Args ? [args?: Args] : Record<never, never> extends Args ? [args?: Args] : [args: Args]
      ) => ServerQuery<Value>
    : never;
};

/** The call of a server query at run time. */
class QueryCall {
  declare readonly source: Source;
  readonly #query: LiveServerQuery;

  constructor(source: Source, name: string, args: unknown) {
    this.source = source;
    this.#query = { name, args };
  }

  /** The query of a live subscription. */
  asked(): LiveServerQuery {
    return this.#query;
  }

  run(options?: CallOptions): Promise<unknown> {
    const { name, args } = this.#query;
    const search = searchOf({ args: JSON.stringify(args) });
    return this.source.transport.call("GET", `/api/query/${encodeURIComponent(name)}${search}`, options);
  }

  live(listener: (state: LiveValue) => void, options?: LiveOptions): () => void {
    return this.source.live().watch(this, listener, options);
  }

  then<A, B>(
    fulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    rejected?: ((thrown: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.run().then(fulfilled, rejected);
  }
}

export function queriesOf(source: Source): object {
  return new Proxy(
    {},
    {
      get: (_target, name) =>
        typeof name === "symbol" || name === "then"
          ? undefined
          : (args?: unknown): QueryCall => new QueryCall(source, name, args),
    },
  );
}
