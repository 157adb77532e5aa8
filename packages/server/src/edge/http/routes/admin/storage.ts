/** `/api/admin/storage`: the metadata of stored files, the readers, and the records that use a file. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { type AdminRoutes, answerPage, readAdminBody, waiterOf } from "./for-admins.ts";

export function fileRoutes({ files }: Admin): AdminRoutes {
  return {
    "/api/admin/storage": {
      GET(exchange, admin) {
        const filter = {
          search: exchange.query("search"),
          visibility: exchange.query("visibility"),
          userId: exchange.query("userId"),
        };
        const waiter = waiterOf(exchange, admin);
        return answerPage(exchange, (page) => files.search(filter, { ...page, waiter }));
      },
    },
    "/api/admin/storage/:id": {
      GET: (exchange) => exchange.json(200, files.get(exchange.param("id"))),
      async PATCH(exchange, admin) {
        const id = exchange.param("id");
        // Before a body is looked at.
        files.get(id);
        return exchange.json(200, await files.setVisibility(id, await readAdminBody(exchange), admin));
      },
    },
    "/api/admin/storage/:id/records": {
      GET(exchange, admin) {
        const waiter = waiterOf(exchange, admin);
        return answerPage(exchange, (page) => files.uses(exchange.param("id"), { ...page, waiter }));
      },
    },
  };
}
