/** `/api/admin/keys`: service keys, which belong to no user; and the API keys of a user. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { type AdminRoutes, answerPageOf, readAdminBody } from "./for-admins.ts";

export function adminKeyRoutes({ keys, users }: Admin): AdminRoutes {
  return {
    "/api/admin/keys": {
      GET: (exchange) => answerPageOf(exchange, keys.list(null)),
      async POST(exchange, admin) {
        return exchange.json(201, await keys.create(await readAdminBody(exchange), admin));
      },
    },
    "/api/admin/keys/:id": {
      async DELETE(exchange, admin) {
        await keys.delete(null, exchange.param("id"), admin);
        return exchange.empty();
      },
    },
    "/api/admin/users/:id/keys": {
      GET: (exchange) => answerPageOf(exchange, keys.list(users.get(exchange.param("id")).id)),
    },
    "/api/admin/users/:id/keys/:key": {
      async DELETE(exchange, admin) {
        await keys.delete(exchange.param("id"), exchange.param("key"), admin);
        return exchange.empty();
      },
    },
  };
}
