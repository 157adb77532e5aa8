/** Guard of the admin routes: every handler gets its caller, who is an admin. */
import type { Waiter } from "../../../database/index.ts";
import { AppError, type SignedIn } from "../../../kernel/index.ts";
import { readObject } from "../../body.ts";
import type { Exchange } from "../../exchange.ts";
import type { Handler, Route } from "../../router.ts";

type AdminHandler = (exchange: Exchange, admin: SignedIn) => ReturnType<Handler>;

export interface AdminRoute {
  readonly path: string;
  readonly methods: { readonly [method in keyof Route["methods"]]?: AdminHandler };
}

/**
 * The caller, who must be an admin (spec, "Authentication" 5).
 * @throws AppError `unauthorized`, `forbidden`.
 */
export async function adminOf(exchange: Exchange): Promise<SignedIn> {
  const principal = await exchange.principal();
  if (principal === null) throw new AppError("unauthorized", "This is for admins: sign in as one.");
  if (principal.role !== "admin") throw new AppError("forbidden", "This is for admins only.");
  return principal;
}

/**
 * The JSON object of a body. The caller is looked at again once it is there: a right may have ended while it came.
 * @throws AppError as `readObject` and `adminOf`.
 */
export async function readAdminBody(exchange: Exchange, limit: number): Promise<Record<string, unknown>> {
  try {
    return await readObject(exchange, limit);
  } finally {
    await adminOf(exchange);
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
      async (exchange: Exchange) => handler(exchange, await adminOf(exchange)),
    ]);
    return { path, methods: Object.fromEntries(guarded) };
  });
}
