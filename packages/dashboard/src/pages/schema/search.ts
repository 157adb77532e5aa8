/** The address of a schema's page. */
import { choiceParam, type RawSearch, textParam } from "../../kit/search-params.ts";

/** The requests of a trial. */
export const attempts = ["list", "read", "create", "update", "delete"] as const;
export type Attempt = (typeof attempts)[number];

export interface SchemaSearch {
  tab?: "fields" | "permissions" | "indexes" | "json" | undefined;
  /** For a new collection: the collection to copy. */
  from?: string | undefined;
  /** For a trial of the rules: the user; undefined for a request without a user. */
  as?: string | undefined;
  attempt?: Attempt | undefined;
  /** The id of the record of a trial. */
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
