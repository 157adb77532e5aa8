/** The address of the functions' page. */
import { choiceOf, countParam, searchOf, textParam } from "../../kit/search-params.ts";

export const readFunctionSearch = searchOf({
  tab: choiceOf(["handlers", "runs"]),
  status: choiceOf(["waiting", "running", "completed", "failed"]),
  /** A file of functions. */
  file: textParam,
  page: countParam,
  /** The id of the run whose details are open. */
  run: textParam,
});

export type FunctionSearch = ReturnType<typeof readFunctionSearch>;
