/** The addresses of the sign-in and of the set-up. */
import { type RawSearch, textParam } from "../../kit/search-params.ts";

export interface LoginSearch {
  /** The page after the sign-in, below `/_/`. */
  from?: string | undefined;
}

export function readLoginSearch(search: RawSearch): LoginSearch {
  const from = textParam(search, "from");
  // Only an address of this dashboard: never an address of another site.
  // Every key is named, also a key without a value: the router passes on each key that a reader leaves out.
  return { from: from !== undefined && /^\/(?![/\\])/.test(from) ? from : undefined };
}

export interface SetupSearch {
  /** The token of the set-up link. */
  token?: string | undefined;
}

export function readSetupSearch(search: RawSearch): SetupSearch {
  return { token: textParam(search, "token") };
}
