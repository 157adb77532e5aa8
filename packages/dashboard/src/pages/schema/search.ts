/** The address of a schema's page. */
import { choiceParam, type RawSearch, textParam } from "../../kit/search-params.ts";

export interface SchemaSearch {
  tab?: "fields" | "permissions" | "indexes" | "json" | undefined;
  /** For a new collection: the one that it begins as a copy of. */
  from?: string | undefined;
}

export function readSchemaSearch(search: RawSearch): SchemaSearch {
  return {
    tab: choiceParam(search, "tab", ["fields", "permissions", "indexes", "json"]),
    from: textParam(search, "from"),
  };
}
