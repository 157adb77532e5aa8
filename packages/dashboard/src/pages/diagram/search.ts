/** The address of the diagram. */
import { choiceOf, searchOf, textParam } from "../../kit/search-params.ts";

export const readDiagramSearch = searchOf({
  view: choiceOf(["table"]),
  /** A part of the name of a collection or a field. */
  search: textParam,
});
