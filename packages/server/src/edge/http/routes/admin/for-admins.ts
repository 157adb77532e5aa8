/** The frame of the admin routes: the guard, bodies, waiting reads, and the pages of lists. */
import type { Page } from "@socle/protocol";
import { AppError, quote, type SignedIn } from "../../../../base/kernel/index.ts";
import type { Waiter } from "../../../../store/database/index.ts";
import type { Exchange } from "../../exchange.ts";
import { type Handler, type Methods, mapMethods, type Routes } from "../../router.ts";

/** More than this number are not answered at once (contract, "Admin"). */
const maxLimit = 1_000;

type AdminHandler = (exchange: Exchange, admin: SignedIn) => ReturnType<Handler>;

export interface AdminRoutes {
  readonly [path: string]: { readonly [method in keyof Methods]?: AdminHandler };
}

/** Nothing of these routes is looked at before the caller is known to be an admin. */
export function forAdmins(routes: AdminRoutes): Routes {
  const guarded =
    (handler: AdminHandler): Handler =>
    async (exchange) =>
      handler(exchange, await exchange.admin());
  return Object.fromEntries(Object.entries(routes).map(([path, methods]) => [path, mapMethods(methods, guarded)]));
}

/**
 * The JSON object of a body. The caller is checked again after the body has come: a right may have ended meanwhile.
 * @throws AppError as `Exchange.object` and `Exchange.admin`.
 */
export async function readAdminBody(exchange: Exchange): Promise<Record<string, unknown>> {
  try {
    return await exchange.object();
  } finally {
    await exchange.admin();
  }
}

/** The admin as the caller of a read that may have to wait for a thread. */
export function waiterOf(exchange: Exchange, admin: SignedIn): Waiter & { principal: SignedIn } {
  return { principal: admin, caller: admin.userId, signal: exchange.request.signal };
}

/** A part of a list, and the length of the list. */
type Found<T> = Pick<Page<T>, "items" | "total">;

/**
 * Answers the page that `limit` and `offset` of the query ask for.
 * @throws AppError `bad_request` for anything but a whole number from 0.
 */
export async function answerPage<T>(
  exchange: Exchange,
  find: (page: { limit: number; offset: number }) => Found<T> | Promise<Found<T>>,
  defaultLimit = 50,
): Promise<Response> {
  const limit = Math.min(wholeNumber(exchange, "limit") ?? defaultLimit, maxLimit);
  const offset = wholeNumber(exchange, "offset") ?? 0;
  const { items, total } = await find({ limit, offset });
  return exchange.json(200, { items, total, limit, offset } satisfies Page<T>);
}

/** Answers a page of a list in memory. */
export function answerPageOf<T>(exchange: Exchange, all: readonly T[]): Promise<Response> {
  return answerPage(exchange, ({ limit, offset }) => ({ items: all.slice(offset, offset + limit), total: all.length }));
}

function wholeNumber(exchange: Exchange, name: string): number | null {
  const text = exchange.query(name);
  if (text === null) return null;
  if (!/^\d+$/.test(text))
    throw new AppError("bad_request", `"${name}" must be a whole number from 0, not ${quote(text)}.`);
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}
