/** `/api/auth/keys`: the API keys of the signed-in user. */
import type { Auth } from "../../../people/auth/index.ts";
import type { Routes } from "../router.ts";

const purpose = "see or change API keys";

export function keyRoutes({ auth: { keys } }: { auth: Auth }): Routes {
  return {
    "/api/auth/keys": {
      async GET(exchange) {
        const { userId } = await exchange.user(purpose);
        return exchange.json(200, { items: keys.list(userId) });
      },
      async POST(exchange) {
        await exchange.user(purpose);
        const body = await exchange.object();
        // The session may have ended while the body came.
        return exchange.json(201, await keys.createOwn(await exchange.user(purpose), body, exchange.waiter));
      },
    },
    "/api/auth/keys/:id": {
      async DELETE(exchange) {
        await keys.deleteOwn(await exchange.user(purpose), exchange.param("id"), exchange.waiter);
        return exchange.empty();
      },
    },
  };
}
