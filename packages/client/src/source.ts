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
    page(query, options) {
      const path = `/api/${encodeURIComponent(query.collection)}`;
      const body = { limit: 1_000, ...query.parameters() };
      const search = searchOf(body);
      // Longer addresses are refused on the way.
      return search.length < 4_000
        ? transport.call("GET", path + search, options)
        : transport.call("POST", `${path}/query`, { ...options, body });
    },
  };
}
