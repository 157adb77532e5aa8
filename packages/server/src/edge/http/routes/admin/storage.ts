/** `/api/admin/storage`: the metadata of stored files, their readers, and the records that use a file. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { pageQuery, toPage } from "../../page-query.ts";
import { type AdminRoute, readAdminBody, waiterOf } from "./for-admins.ts";

export function fileRoutes({ files }: Admin, bodyLimit: number): AdminRoute[] {
  return [
    {
      path: "/api/admin/storage",
      methods: {
        async GET(exchange, admin) {
          const query = pageQuery(exchange);
          const filter = {
            search: exchange.query("search"),
            visibility: exchange.query("visibility"),
            userId: exchange.query("userId"),
          };
          const found = await files.search(filter, { ...query, waiter: waiterOf(exchange, admin) });
          return exchange.json(200, toPage(found, query));
        },
      },
    },
    {
      path: "/api/admin/storage/:id",
      methods: {
        GET: (exchange) => exchange.json(200, files.get(exchange.param("id"))),
        async PATCH(exchange, admin) {
          const id = exchange.param("id");
          // Before a body is looked at.
          files.get(id);
          return exchange.json(200, await files.setVisibility(id, await readAdminBody(exchange, bodyLimit), admin));
        },
      },
    },
    {
      path: "/api/admin/storage/:id/records",
      methods: {
        async GET(exchange, admin) {
          const query = pageQuery(exchange);
          const found = await files.uses(exchange.param("id"), { ...query, waiter: waiterOf(exchange, admin) });
          return exchange.json(200, toPage(found, query));
        },
      },
    },
  ];
}
