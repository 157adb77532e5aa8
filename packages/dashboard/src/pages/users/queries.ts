/** The list of users, and the refresh of queries after a change of a user. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { offsetOf, pageSize } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import type { UserSearch } from "../search.ts";

export function userListQuery({ search, role, page }: UserSearch) {
  return queryOptions({
    queryKey: ["users", "list", { search, role, page }],
    queryFn: () => client.admin.users.list({ search, role, limit: pageSize, offset: offsetOf(page) }),
    placeholderData: keepPreviousData,
  });
}

/** Reads lists, single users and the overview's count again. */
export async function refreshUsers(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ["users"] }),
    queryClient.invalidateQueries({ queryKey: ["overview"] }),
  ]);
}
