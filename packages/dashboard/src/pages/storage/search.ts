/** The address of the files' page. */
import { VISIBILITIES, type Visibility } from "@socle/protocol";
import { choiceParam, countParam, type RawSearch, textParam } from "../../kit/search-params.ts";

export interface StorageSearch {
  /** A part of the name. */
  search?: string | undefined;
  visibility?: Visibility | undefined;
  /** The id of the owner. */
  user?: string | undefined;
  view?: "list" | "grid" | undefined;
  /** From 1. */
  page?: number | undefined;
  /** The id of the file whose drawer is open. */
  file?: string | undefined;
}

export function readStorageSearch(search: RawSearch): StorageSearch {
  return {
    search: textParam(search, "search"),
    visibility: choiceParam(search, "visibility", VISIBILITIES),
    user: textParam(search, "user"),
    view: choiceParam(search, "view", ["list", "grid"]),
    page: countParam(search, "page"),
    file: textParam(search, "file"),
  };
}
