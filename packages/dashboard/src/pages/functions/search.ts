/** The address of the functions' page. */
import { choiceParam, countParam, type RawSearch, textParam } from "../../kit/search-params.ts";

export const runStatuses = ["waiting", "running", "completed", "failed"] as const;

export interface FunctionSearch {
  tab?: "handlers" | "runs" | undefined;
  status?: (typeof runStatuses)[number] | undefined;
  /** A file of functions. */
  file?: string | undefined;
  /** From 1. */
  page?: number | undefined;
  /** The id of the run whose details are open. */
  run?: string | undefined;
}

export function readFunctionSearch(search: RawSearch): FunctionSearch {
  return {
    tab: choiceParam(search, "tab", ["handlers", "runs"]),
    status: choiceParam(search, "status", runStatuses),
    file: textParam(search, "file"),
    page: countParam(search, "page"),
    run: textParam(search, "run"),
  };
}
