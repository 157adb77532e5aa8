/** The address of the users' page. */
import { ROLES, type Role } from "@socle/protocol";
import { choiceParam, countParam, type RawSearch, textParam } from "../../kit/search-params.ts";

export interface UserSearch {
  /** A part of the email. */
  search?: string | undefined;
  role?: Role | undefined;
  /** From 1. */
  page?: number | undefined;
  /** The id of the user whose drawer is open, or "new". */
  user?: string | undefined;
}

export function readUserSearch(search: RawSearch): UserSearch {
  return {
    search: textParam(search, "search"),
    role: choiceParam(search, "role", ROLES),
    page: countParam(search, "page"),
    user: textParam(search, "user"),
  };
}
