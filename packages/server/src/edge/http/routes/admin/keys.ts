/** `/api/admin/keys`: service keys, which belong to no user; and the API keys of a user. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, type Routes, route } from "../../route.ts";
import { listRoute } from "./paging.ts";

export function adminKeyRoutes(api: { admin: Admin }): Routes {
  return {
    "/api/admin/keys": {
      GET: listRoute({ summary: "The service keys", item: wire.apiKey, all: () => api.admin.keys.list(null) }),
      POST: route({
        summary: "Make a service key",
        access,
        body: wire.newApiKey,
        answers: { 201: wire.createdApiKey },
        errors: [409],
        handle: (_, admin, body) => api.admin.keys.create(body, admin),
      }),
    },
    "/api/admin/keys/:id": {
      DELETE: route({
        summary: "Delete a service key",
        access,
        answers: { 204: null },
        handle: (exchange, admin) => api.admin.keys.delete(null, exchange.param("id"), admin),
      }),
    },
    "/api/admin/users/:id/keys": {
      GET: listRoute({
        summary: "The API keys of a user",
        item: wire.apiKey,
        all: (exchange) => api.admin.keys.list(api.admin.users.get(exchange.param("id")).id),
      }),
    },
    "/api/admin/users/:id/keys/:key": {
      DELETE: route({
        summary: "Delete an API key of a user",
        access,
        answers: { 204: null },
        handle: (exchange, admin) => api.admin.keys.delete(exchange.param("id"), exchange.param("key"), admin),
      }),
    },
  };
}
