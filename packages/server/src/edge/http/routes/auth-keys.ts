/** `/api/auth/keys`: the API keys of the signed-in user. */
import * as wire from "@socle/protocol/wire";
import type { Auth } from "../../../people/auth/index.ts";
import { type Routes, route, users } from "../route.ts";

const access = users("see or change API keys");

export function keyRoutes(api: { auth: Auth }): Routes {
  return {
    "/api/auth/keys": {
      GET: route({
        summary: "The own API keys",
        access,
        answers: { 200: wire.listOf(wire.apiKey) },
        handle: (_, { userId }) => ({ items: api.auth.keys.list(userId) }),
      }),
      POST: route({
        summary: "Make an API key",
        access,
        body: wire.newApiKey,
        answers: { 201: wire.createdApiKey },
        errors: [409],
        handle: (exchange, user, body) => api.auth.keys.createOwn(user, body, exchange.waiter),
      }),
    },
    "/api/auth/keys/:id": {
      DELETE: route({
        summary: "Delete an API key",
        access,
        answers: { 204: null },
        handle: (exchange, user) => api.auth.keys.deleteOwn(user, exchange.param("id"), exchange.waiter),
      }),
    },
  };
}
