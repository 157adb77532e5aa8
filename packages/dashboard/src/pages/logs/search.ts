/** The address of the log's page. */
import { LOG_LEVELS, type LogLevel } from "@socle/protocol";
import { choicesParam, type RawSearch, textParam } from "../../kit/search-params.ts";

export interface LogSearch {
  /** Levels with commas between the levels in the address. */
  levels?: string | undefined;
  /** A part of the message, of the request's id or of a field. */
  search?: string | undefined;
}

export function readLogSearch(search: RawSearch): LogSearch {
  return {
    levels: choicesParam<LogLevel>(search, "levels", LOG_LEVELS)?.join(","),
    search: textParam(search, "search"),
  };
}
