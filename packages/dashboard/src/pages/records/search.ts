/** The address of a collection's records. */
import { type RawSearch, textParam } from "../../kit/search-params.ts";

export interface RecordSearch {
  /** An expression of the filter language. */
  filter?: string | undefined;
  /** The words in the search box. */
  search?: string | undefined;
  /** In the form of the API: "-createdAt,title". */
  sort?: string | undefined;
  /** The id of the record whose drawer is open, or "new". */
  record?: string | undefined;
  /** Whether the export is open. */
  export?: true | undefined;
}

export function readRecordSearch(search: RawSearch): RecordSearch {
  return {
    filter: textParam(search, "filter"),
    search: textParam(search, "search"),
    sort: textParam(search, "sort"),
    record: textParam(search, "record"),
    export: search["export"] === true ? true : undefined,
  };
}
