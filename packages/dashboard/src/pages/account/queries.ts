/** The parts of the admin's own account. The key has the id of the user: another admin may sign in in the same tab. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { refreshUsers } from "../users/queries.ts";

export function factorsQuery(userId: string) {
  return queryOptions({
    queryKey: ["account", userId, "factors"],
    queryFn: () => client.auth.factors(),
    staleTime: 0,
  });
}

export function sessionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["account", userId, "sessions"],
    queryFn: () => client.auth.sessions.list(),
    staleTime: 0,
  });
}

/** Reads the parts again, and the account in the list of users. */
export async function refreshAccount(): Promise<void> {
  await Promise.all([queryClient.invalidateQueries({ queryKey: ["account"] }), refreshUsers()]);
}
