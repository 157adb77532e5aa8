/** The address of the jobs' page. */
import { type RawSearch, textParam } from "../../kit/search-params.ts";

export interface JobSearch {
  /** The name of the job whose runs are shown. */
  job?: string | undefined;
  /** The id of the run whose log is open. */
  run?: string | undefined;
}

export function readJobSearch(search: RawSearch): JobSearch {
  return { job: textParam(search, "job"), run: textParam(search, "run") };
}
