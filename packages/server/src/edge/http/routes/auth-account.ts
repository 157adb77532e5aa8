/** `/api/auth/me`, `/api/auth/sessions` and `/api/auth/password`: the account of the signed-in user. */
import { AppError } from "../../../base/kernel/index.ts";
import { type Account, type Auth, readOptionalPassword, readPassword } from "../../../people/auth/index.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Methods, Routes } from "../router.ts";

/** Deletions whose body is read. */
export const deletionsWithBody: readonly string[] = ["/api/auth/me"];

const toSeeSessions = "see or end your sessions";
const toChange = "change your account";

/** `GET /api/auth/me`. */
export function meReads({ auth }: { auth: Auth }): { readonly "/api/auth/me": Methods } {
  return {
    "/api/auth/me": {
      async GET(exchange) {
        const principal = await exchange.principal();
        if (principal === null) throw new AppError("unauthorized", "To see your user, sign in.");
        const user = auth.callers.userOf(principal);
        if (user === null) throw new AppError("forbidden", "A service key has no user.");
        return exchange.json(200, { user: auth.users.shown(user) });
      },
    },
  };
}

/** Requests with a password count for the rate of logins. */
export function accountRoutes(options: { account: Account; auth: Auth; rates: RateLimiter }): Routes {
  const { account, rates } = options;
  return {
    "/api/auth/me": {
      ...meReads(options)["/api/auth/me"],
      ...rates.limit("login", {
        async DELETE(exchange) {
          await exchange.user(toChange);
          const body = (await exchange.optionalObject()) ?? {};
          // The session may have ended while the body came.
          const request = { principal: await exchange.user(toChange), caller: exchange.waiter };
          await account.delete(request, readOptionalPassword(body));
          return exchange.empty();
        },
      }),
    },
    "/api/auth/password": rates.limit("login", {
      async PUT(exchange) {
        await exchange.user(toChange);
        const body = await exchange.object();
        const request = { principal: await exchange.user(toChange), caller: exchange.waiter };
        const current = readOptionalPassword(body, "current");
        await account.setPassword(request, { current, password: readPassword(body) });
        return exchange.empty();
      },
    }),
    "/api/auth/sessions": {
      async GET(exchange) {
        return exchange.json(200, { items: account.sessions(await exchange.user(toSeeSessions)) });
      },
      async DELETE(exchange) {
        await account.endOtherSessions(await exchange.user(toSeeSessions));
        return exchange.empty();
      },
    },
    "/api/auth/sessions/:id": {
      async DELETE(exchange) {
        await account.endSession(await exchange.user(toSeeSessions), exchange.param("id"));
        return exchange.empty();
      },
    },
  };
}
