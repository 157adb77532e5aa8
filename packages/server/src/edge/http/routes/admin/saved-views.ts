/** `/api/admin/collections/{name}/saved-views`: the named filters, sorts and columns of a list of records. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import { admins as access, noContent, type Routes, route } from "../../route.ts";

export function savedViewRoutes(api: { admin: Admin }): Routes {
  const targetOf = (exchange: Exchange) => ({ collection: exchange.param("name"), name: exchange.param("view") });
  return {
    "/api/admin/collections/:name/saved-views": {
      GET: route({
        summary: "The saved views of a collection",
        access,
        answers: { 200: wire.listOf(wire.savedView) },
        errors: [404],
        handle: (exchange) => ({ items: api.admin.savedViews.list(exchange.param("name")) }),
      }),
    },
    "/api/admin/collections/:name/saved-views/:view": {
      PUT: route({
        summary: "Make or replace a saved view",
        access,
        body: wire.savedViewContent,
        answers: { 200: wire.savedView },
        errors: [404, 409],
        handle: (exchange, admin, content) => api.admin.savedViews.put(targetOf(exchange), content, admin),
      }),
      DELETE: route({
        summary: "Delete a saved view",
        access,
        answers: { 204: noContent() },
        errors: [404],
        async handle(exchange, admin) {
          await api.admin.savedViews.delete(targetOf(exchange), admin);
          return exchange.empty();
        },
      }),
    },
  };
}
