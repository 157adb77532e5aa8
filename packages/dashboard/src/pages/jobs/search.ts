/** The address of the jobs' page. */
import { searchOf, textParam } from "../../kit/search-params.ts";

export const readJobSearch = searchOf({
  /** The name of the job whose runs are shown. */
  job: textParam,
  /** The id of the run whose log is open. */
  run: textParam,
});

export type JobSearch = ReturnType<typeof readJobSearch>;
