/** `/api/auth/…` of second factors and passkeys: authenticator apps, recovery codes, passkeys, and the sign-ins with these. */
import { type Auth, readText } from "../../../people/auth/index.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Routes } from "../router.ts";

const purpose = "see or change your second factors and passkeys";

export function factorRoutes({ auth, rates }: { auth: Auth; rates: RateLimiter }): Routes {
  const { factors, passkeys } = auth;
  return {
    "/api/auth/factors": {
      async GET(exchange) {
        const { userId } = await exchange.user(purpose);
        return exchange.json(200, factors.of(userId));
      },
    },
    "/api/auth/totp": {
      async POST(exchange) {
        return exchange.json(200, await factors.beginTotp(await exchange.user(purpose), exchange.waiter));
      },
      async DELETE(exchange) {
        await factors.removeTotp(await exchange.user(purpose), exchange.waiter);
        return exchange.empty();
      },
    },
    "/api/auth/totp/confirm": {
      async POST(exchange) {
        const caller = await exchange.user(purpose);
        return exchange.json(200, await factors.confirmTotp(caller, await exchange.object(), exchange.waiter));
      },
    },
    "/api/auth/recovery-codes": {
      async POST(exchange) {
        return exchange.json(200, await factors.renewRecoveryCodes(await exchange.user(purpose), exchange.waiter));
      },
    },
    "/api/auth/second-factor": rates.limit("login", {
      async POST(exchange) {
        const body = await exchange.object();
        return exchange.json(200, await factors.secondFactor(body, exchange.waiter));
      },
    }),
    "/api/auth/passkeys/options": {
      async POST(exchange) {
        const caller = await exchange.user(purpose);
        return exchange.json(200, passkeys.creation(caller, exchange.waiter));
      },
    },
    "/api/auth/passkeys": {
      async GET(exchange) {
        const { userId } = await exchange.user(purpose);
        return exchange.json(200, { items: passkeys.list(userId) });
      },
      async POST(exchange) {
        const caller = await exchange.user(purpose);
        return exchange.json(201, await passkeys.register(caller, await exchange.object(), exchange.waiter));
      },
    },
    "/api/auth/passkeys/login/options": rates.limit("login", {
      async POST(exchange) {
        const body = (await exchange.optionalObject()) ?? {};
        const attempt = body["attempt"] === undefined ? null : readText(body, "attempt");
        return exchange.json(200, passkeys.request(attempt, exchange.waiter));
      },
    }),
    "/api/auth/passkeys/login": rates.limit("login", {
      async POST(exchange) {
        const body = await exchange.object();
        return exchange.json(200, await passkeys.signIn(body, exchange.waiter));
      },
    }),
    "/api/auth/passkeys/:id": {
      async DELETE(exchange) {
        await passkeys.remove(await exchange.user(purpose), exchange.param("id"), exchange.waiter);
        return exchange.empty();
      },
    },
  };
}
