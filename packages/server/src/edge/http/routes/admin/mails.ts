/** `/api/admin/mails`: the outbox, a mail, and another attempt. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { type AdminRoutes, answerPage } from "./for-admins.ts";

export function mailRoutes({ mails }: Admin): AdminRoutes {
  return {
    "/api/admin/mails": {
      GET: (exchange) => answerPage(exchange, (page) => mails.list(exchange.query("status"), page)),
    },
    "/api/admin/mails/:id": {
      GET: async (exchange, admin) => exchange.json(200, await mails.get(exchange.param("id"), admin)),
    },
    "/api/admin/mails/:id/retry": {
      POST: async (exchange, admin) => exchange.json(202, await mails.retry(exchange.param("id"), admin)),
    },
  };
}
