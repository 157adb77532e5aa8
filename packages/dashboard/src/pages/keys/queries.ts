/** The service keys, and the refresh after a change. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";

export const serviceKeysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => client.admin.keys.list(),
});

export async function refreshKeys(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["keys"] });
}
