/** Queries that several pages share: collections, users, the overview. The queries of a single page stand in the folder of the page. */
import { SocleError } from "@socle/client";
import { keepPreviousData, QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import { client } from "./client.ts";

/** Whether a retry may help: after errors of a restart or a proxy; never after a refusal of the service. */
function isWorthRetrying(failures: number, error: Error): boolean {
  return error instanceof SocleError && (error.is("offline") || error.status >= 502) && failures < 3;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthRetrying, staleTime: 5_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
});

/** All collections by name, with their definitions and counts of records. */
export const collectionsQuery = queryOptions({
  queryKey: ["collections"],
  queryFn: async () => (await client.admin.collections.list({ limit: 1_000 })).items,
});

export function collectionQuery(name: string) {
  return queryOptions({
    queryKey: ["collections", name],
    queryFn: () => client.admin.collections.get(name),
  });
}

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: () => client.admin.overview(),
  refetchInterval: 10_000,
  placeholderData: keepPreviousData,
});

/** Whether the service refuses changes. */
export const readOnlyQuery = queryOptions({
  queryKey: ["read-only"],
  queryFn: () => client.admin.readOnly(),
  refetchInterval: 15_000,
});

/** A user with the sessions; for every place that shows an id of a user with a name. */
export function userQuery(id: string) {
  return queryOptions({
    queryKey: ["users", "one", id],
    queryFn: () => client.admin.users.get(id),
    staleTime: 60_000,
  });
}

/** The sending of mails: the sender, the server, the address in links. */
export const mailSettingsQuery = queryOptions({
  queryKey: ["mails", "settings"],
  queryFn: () => client.admin.mails.settings(),
  staleTime: 60_000,
});

/** Keys of the configuration without which no mail with a link is written; empty while the settings load. */
export function useMissingForLinks(): readonly string[] {
  const { data } = useQuery(mailSettingsQuery);
  if (data === undefined) return [];
  return [...(data.from === null ? ["mail.from"] : []), ...(data.publicUrl === null ? ["publicUrl"] : [])];
}

/** The configuration in force, which stays the same while the service runs. */
export const configQuery = queryOptions({
  queryKey: ["config"],
  queryFn: () => client.admin.config(),
  staleTime: 60_000,
});
