/** The list of users, the parts of an account, and the refresh of queries after a change of a user. */
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

// Users change their own accounts, and no event tells so: the drawer reads these parts each time on opening.

export function userFactorsQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "factors", id],
    queryFn: () => client.admin.users.factors(id),
    staleTime: 0,
  });
}

export function userLinksQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "links", id],
    queryFn: () => client.admin.users.links(id),
    staleTime: 0,
  });
}

export function userKeysQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "keys", id],
    queryFn: async () => (await client.admin.users.keys(id, { limit: 1_000 })).items,
    staleTime: 0,
  });
}

/** Reads lists, single users with their parts, and the overview's count again. */
export async function refreshUsers(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ["users"] }),
    queryClient.invalidateQueries({ queryKey: ["overview"] }),
  ]);
}
