/** The addresses of the sign-in and of the set-up. */
import { type RawSearch, searchOf, textParam } from "../../kit/search-params.ts";

/** Only an address of this dashboard: never an address of another site. */
function ownAddress(search: RawSearch, name: string): string | undefined {
  const from = textParam(search, name);
  return from !== undefined && /^\/(?![/\\])/.test(from) ? from : undefined;
}

export const readLoginSearch = searchOf({
  /** The page after the sign-in, below `/_/`. */
  from: ownAddress,
});

export const readSetupSearch = searchOf({
  /** The token of the set-up link. */
  token: textParam,
});
