/** The open sockets, read again every few seconds: no event tells of a socket. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { offsetOf, pageSize } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import type { SocketSearch } from "../search.ts";

const refreshMs = 2_000;

export function socketListQuery({ user, page }: SocketSearch) {
  return queryOptions({
    queryKey: ["sockets", { user, page }],
    queryFn: () => client.admin.sockets({ user, limit: pageSize, offset: offsetOf(page) }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}
