/** The address of the files' page. */
import { VISIBILITIES } from "@socle/protocol";
import { choiceOf, countParam, searchOf, textParam } from "../../kit/search-params.ts";

export const readStorageSearch = searchOf({
  /** A part of the name. */
  search: textParam,
  visibility: choiceOf(VISIBILITIES),
  /** The id of the owner. */
  user: textParam,
  view: choiceOf(["list", "grid"]),
  page: countParam,
  /** The id of the file whose drawer is open. */
  file: textParam,
});

export type StorageSearch = ReturnType<typeof readStorageSearch>;
