/** The address of the diagram. */
import { choiceParam, type RawSearch, textParam } from "../../kit/search-params.ts";

export interface DiagramSearch {
  view?: "table" | undefined;
  /** A part of the name of a collection or a field. */
  search?: string | undefined;
}

export function readDiagramSearch(search: RawSearch): DiagramSearch {
  return { view: choiceParam(search, "view", ["table"]), search: textParam(search, "search") };
}
