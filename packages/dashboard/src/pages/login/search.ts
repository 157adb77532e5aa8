/** The addresses of the sign-in and of the set-up. */
import { type RawSearch, textParam } from "../../kit/search-params.ts";

export interface LoginSearch {
  /** The page to go to afterwards, below `/_/`. */
  from?: string;
}

export function readLoginSearch(search: RawSearch): LoginSearch {
  const from = textParam(search, "from");
  // An address of this dashboard alone: never one of another site.
  return from !== undefined && /^\/(?![/\\])/.test(from) ? { from } : {};
}

export interface SetupSearch {
  /** The token of the set-up link. */
  token?: string;
}

export function readSetupSearch(search: RawSearch): SetupSearch {
  const token = textParam(search, "token");
  return token === undefined ? {} : { token };
}
