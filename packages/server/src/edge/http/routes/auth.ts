/** `/api/auth/…` (spec, "Authentication endpoints"): register, login, refresh, logout, and the set-up of the first admin. */

import { AppError } from "../../../base/kernel/index.ts";
import type { Admin } from "../../../operate/admin/index.ts";
import { type Auth, readCredentials } from "../../../people/auth/index.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Routes } from "../router.ts";

/** The path of the set-up link in the start log. */
export const firstAdminPath = "/api/auth/setup";

/** The refresh token of a body, or null. */
function refreshTokenOf(body: Record<string, unknown> | null): string | null {
  const token = body !== null && Object.hasOwn(body, "refreshToken") ? body["refreshToken"] : null;
  if (token === null || token === undefined) return null;
  if (typeof token === "string") return token;
  throw AppError.validation([{ field: "refreshToken", rule: "type", message: "refreshToken must be a string" }]);
}

export function authRoutes(options: { auth: Auth; admin: Admin; rates: RateLimiter }): Routes {
  const { auth, rates } = options;
  const { firstAdmin } = options.admin;
  return {
    "/api/auth/register": rates.limit("register", {
      async POST(exchange) {
        const answer = await auth.registrations.register(await exchange.object(), exchange.waiter);
        return exchange.json("next" in answer ? 202 : 201, answer);
      },
    }),
    "/api/auth/login": rates.limit("login", {
      async POST(exchange) {
        const credentials = readCredentials(await exchange.object());
        return exchange.json(200, await auth.login(credentials, exchange.waiter));
      },
    }),
    "/api/auth/refresh": rates.limit("refresh", {
      async POST(exchange) {
        const token = refreshTokenOf(await exchange.object());
        if (token === null)
          throw AppError.validation([{ field: "refreshToken", rule: "required", message: "refreshToken is required" }]);
        return exchange.json(200, await auth.refresh(token));
      },
    }),
    "/api/auth/logout": {
      async POST(exchange) {
        const principal = await exchange.session();
        const token = refreshTokenOf(await exchange.optionalObject());
        await auth.logout(principal, token);
        return exchange.empty();
      },
    },
    // For a service without an admin: the token is in the query, as in the link, or in the body.
    [firstAdminPath]: rates.limit("setup", {
      GET(exchange) {
        const token = exchange.query("token");
        if (token === null) return exchange.json(200, { status: firstAdmin.status() });
        const invitation = firstAdmin.check(token);
        const next = "To make the first admin, POST { email, password } as JSON to this address.";
        return exchange.json(200, { status: "open", ...invitation, next });
      },
      async POST(exchange) {
        const { token = exchange.query("token"), ...body } = await exchange.object();
        return exchange.json(201, await firstAdmin.create(body, token, exchange.waiter));
      },
    }),
  };
}
