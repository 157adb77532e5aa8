/** The requests and the live queries of a client, for the parts of the client that read and write. */
import type { QuerySource } from "@socle/protocol/query";
import type { Live } from "./live-types.ts";
import { searchOf } from "./search.ts";
import type { Transport } from "./transport.ts";

export interface Source extends QuerySource {
  readonly transport: Transport;
  /** @throws Error for a client without live queries. */
  live(): Live;
}

export function sourceOf(transport: Transport, live: Source["live"]): Source {
  return {
    transport,
    live,
    page: (query, { signal }) =>
      transport.call(
        "GET",
        `/api/${encodeURIComponent(query.collection)}${searchOf({ limit: 1_000, ...query.parameters() })}`,
        { signal },
      ),
  };
}
