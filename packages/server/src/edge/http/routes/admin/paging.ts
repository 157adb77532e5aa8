/** Admin routes that answer lists, in pages; and the caller of a read that waits. */
import type { Page } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import { AppError, quote, type SignedIn } from "../../../../base/kernel/index.ts";
import type { Waiter } from "../../../../store/database/index.ts";
import type { Parameter } from "../../../openapi/index.ts";
import type { Exchange } from "../../exchange.ts";
import { admins, parameter, type Route, route } from "../../route.ts";

/** More than this number are not answered at once (contract, "Admin"). */
const maxLimit = 1_000;

/** The admin as the caller of a read that may have to wait for a thread. */
export function waiterOf(exchange: Exchange, admin: SignedIn): Waiter & { principal: SignedIn } {
  return { principal: admin, caller: admin.userId, signal: exchange.request.signal };
}

interface List<T> {
  readonly summary: string;
  readonly item: wire.Shape<T>;
  /** Whether API keys may use the route. */
  readonly keys?: true;
  /** Parameters beside `limit` and `offset`, by name. */
  readonly query?: { readonly [name: string]: Parameter };
}

/** A part of a list, and the length of the list. */
type Found<T> = Pick<Page<T>, "items" | "total">;

interface PagedList<T> extends List<T> {
  /** The items of a page without `limit`. */
  readonly defaultLimit?: number;
  find(
    page: { limit: number; offset: number },
    exchange: Exchange,
    admin: SignedIn,
  ): Found<NoInfer<T>> | Promise<Found<NoInfer<T>>>;
}

export const pageQuery = {
  limit: parameter("Items of the page, 1,000 at most.", wire.count),
  offset: parameter("Items before the page.", wire.count),
};

/** The page that a request asks for. @throws AppError `bad_request`. */
export function pageIn(exchange: Exchange, defaultLimit = 50): { limit: number; offset: number } {
  const limit = Math.min(wholeNumber(exchange, "limit") ?? defaultLimit, maxLimit);
  return { limit, offset: wholeNumber(exchange, "offset") ?? 0 };
}

/** Answers the page that `limit` and `offset` of the query ask for. */
export function pageRoute<T>({ summary, item, keys, query, defaultLimit, find }: PagedList<T>): Route {
  return route({
    summary,
    access: admins,
    ...(keys && { keys }),
    query: { ...query, ...pageQuery },
    answers: { 200: wire.pageOf(item) },
    async handle(exchange, admin) {
      const page = pageIn(exchange, defaultLimit);
      const { items, total } = await find(page, exchange, admin);
      return { items, total, ...page };
    },
  });
}

/** Answers a page of a list in memory. */
export function listRoute<T>({
  all,
  ...list
}: List<T> & { all(exchange: Exchange): readonly NoInfer<T>[] | Promise<readonly NoInfer<T>[]> }): Route {
  return pageRoute({
    ...list,
    async find({ limit, offset }, exchange) {
      const items = await all(exchange);
      return { items: items.slice(offset, offset + limit), total: items.length };
    },
  });
}

/** @throws AppError `bad_request` for anything but a whole number from 0. */
function wholeNumber(exchange: Exchange, name: string): number | null {
  const text = exchange.query(name);
  if (text === null) return null;
  if (!/^\d+$/.test(text))
    throw new AppError("bad_request", `"${name}" must be a whole number from 0, not ${quote(text)}.`);
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}
