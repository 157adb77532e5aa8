/** The address of a schema's page. */
import { choiceParam, type RawSearch, textParam } from "../../kit/search-params.ts";

/** The requests that can be tried as somebody else. */
export const attempts = ["list", "read", "create", "update", "delete"] as const;
export type Attempt = (typeof attempts)[number];

export interface SchemaSearch {
  tab?: "fields" | "permissions" | "indexes" | "json" | undefined;
  /** For a new collection: the one that it begins as a copy of. */
  from?: string | undefined;
  /** Of a trial of the rules: the user; nobody without one. */
  as?: string | undefined;
  attempt?: Attempt | undefined;
  /** The id of the record that is tried. */
  record?: string | undefined;
}

export function readSchemaSearch(search: RawSearch): SchemaSearch {
  return {
    tab: choiceParam(search, "tab", ["fields", "permissions", "indexes", "json"]),
    from: textParam(search, "from"),
    as: textParam(search, "as"),
    attempt: choiceParam(search, "attempt", attempts),
    record: textParam(search, "record"),
  };
}
