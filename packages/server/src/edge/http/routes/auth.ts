/** Routes of authentication: register, login, refresh, logout, the signed-in user. */

import { AppError } from "../../../base/kernel/index.ts";
import { type Auth, readCredentials } from "../../../people/auth/index.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Route } from "../router.ts";

/** The refresh token of a body, or null. */
function refreshTokenOf(body: Record<string, unknown> | null): string | null {
  const token = body !== null && Object.hasOwn(body, "refreshToken") ? body["refreshToken"] : null;
  if (token === null || token === undefined) return null;
  if (typeof token === "string") return token;
  throw AppError.validation([{ field: "refreshToken", rule: "type", message: "refreshToken must be a string" }]);
}

/** `/api/auth/…` (spec, "Authentication endpoints"). */
export function authRoutes(options: { auth: Auth; bodyLimit: number; rates: RateLimiter }): Route[] {
  const { auth, bodyLimit, rates } = options;
  return [
    rates.limit("register", {
      path: "/api/auth/register",
      methods: {
        async POST(exchange) {
          const credentials = readCredentials(await exchange.object(bodyLimit));
          return exchange.json(201, await auth.register(credentials, exchange.waiter));
        },
      },
    }),
    rates.limit("login", {
      path: "/api/auth/login",
      methods: {
        async POST(exchange) {
          const credentials = readCredentials(await exchange.object(bodyLimit));
          return exchange.json(200, await auth.login(credentials, exchange.waiter));
        },
      },
    }),
    rates.limit("refresh", {
      path: "/api/auth/refresh",
      methods: {
        async POST(exchange) {
          const token = refreshTokenOf(await exchange.object(bodyLimit));
          if (token === null)
            throw AppError.validation([
              { field: "refreshToken", rule: "required", message: "refreshToken is required" },
            ]);
          return exchange.json(200, await auth.refresh(token));
        },
      },
    }),
    {
      path: "/api/auth/logout",
      methods: {
        async POST(exchange) {
          const principal = await exchange.principal();
          const token = refreshTokenOf(await exchange.optionalObject(bodyLimit));
          await auth.logout(principal, token);
          return exchange.empty();
        },
      },
    },
    {
      path: "/api/auth/me",
      methods: {
        async GET(exchange) {
          const principal = await exchange.principal();
          if (principal === null) throw new AppError("unauthorized", "To see your user, sign in.");
          return exchange.json(200, { user: auth.user(principal.userId) });
        },
      },
    },
  ];
}
