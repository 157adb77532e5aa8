/** The outbox: its list, the mails to an address, a mail, and the refresh after a change. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { offsetOf, pageSize } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import type { MailSearch } from "../search.ts";

/** No event tells of a mail. */
const refreshMs = 5_000;
/** The most mails in the drawer of a user. */
const fewMails = 5;

export function mailListQuery({ search, status, page }: MailSearch) {
  return queryOptions({
    queryKey: ["mails", "list", { search, status, page }],
    queryFn: () => client.admin.mails.list({ search, status, limit: pageSize, offset: offsetOf(page) }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}

/** The newest mails to an address. */
export function mailsToQuery(email: string) {
  return queryOptions({
    queryKey: ["mails", "to", email],
    queryFn: () => client.admin.mails.list({ to: email, limit: fewMails }),
    staleTime: 0,
  });
}

/** A mail with its texts. The audit notes each reading: the mail is read once, and stands outside of `mails`. */
export function mailQuery(id: string) {
  return queryOptions({
    queryKey: ["mail", id],
    queryFn: () => client.admin.mails.get(id),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

export async function refreshMails(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["mails"] });
}
