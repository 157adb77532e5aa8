/** Guard of the admin routes: every handler gets its caller, an admin. */

import type { SignedIn } from "../../../../base/kernel/index.ts";
import type { Waiter } from "../../../../store/database/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { Handler, Route } from "../../router.ts";

type AdminHandler = (exchange: Exchange, admin: SignedIn) => ReturnType<Handler>;

export interface AdminRoute {
  readonly path: string;
  readonly methods: { readonly [method in keyof Route["methods"]]?: AdminHandler };
}

/**
 * The JSON object of a body. The caller is checked again after the body has come: a right may have ended meanwhile.
 * @throws AppError as `Exchange.object` and `Exchange.admin`.
 */
export async function readAdminBody(exchange: Exchange, limit: number): Promise<Record<string, unknown>> {
  try {
    return await exchange.object(limit);
  } finally {
    await exchange.admin();
  }
}

/** The admin as the caller of a read that may have to wait for a thread. */
export function waiterOf(exchange: Exchange, admin: SignedIn): Waiter {
  return { principal: admin, caller: admin.userId, signal: exchange.request.signal };
}

/** Nothing of these routes is looked at before the caller is known to be an admin. */
export function forAdmins(routes: readonly AdminRoute[]): Route[] {
  return routes.map(({ path, methods }) => {
    const guarded = Object.entries(methods).map(([method, handler]) => [
      method,
      async (exchange: Exchange) => handler(exchange, await exchange.admin()),
    ]);
    return { path, methods: Object.fromEntries(guarded) };
  });
}
