/** The address of the users' page. */
import { ROLES } from "@socle/protocol";
import { choiceOf, countParam, searchOf, textParam } from "../../kit/search-params.ts";

export const readUserSearch = searchOf({
  /** A part of the email. */
  search: textParam,
  role: choiceOf(ROLES),
  page: countParam,
  /** The id of the user whose drawer is open, or "new". */
  user: textParam,
});

export type UserSearch = ReturnType<typeof readUserSearch>;
