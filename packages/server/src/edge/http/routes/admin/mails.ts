/** `/api/admin/mails`: the outbox, a mail, another attempt, and the sending of mails with a test. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { type AdminRoutes, answerPage, readAdminBody } from "./for-admins.ts";

export function mailRoutes({ mails }: Admin): AdminRoutes {
  return {
    "/api/admin/mails": {
      GET(exchange) {
        const [status, to, search] = [exchange.query("status"), exchange.query("to"), exchange.query("search")];
        return answerPage(exchange, (page) => mails.list({ status, to, search }, page));
      },
    },
    "/api/admin/mails/settings": { GET: (exchange) => exchange.json(200, mails.settings()) },
    "/api/admin/mails/test": {
      async POST(exchange, admin) {
        const body = await readAdminBody(exchange);
        return exchange.json(200, await mails.test(body, admin, exchange.request.signal));
      },
    },
    "/api/admin/mails/:id": {
      GET: async (exchange, admin) => exchange.json(200, await mails.get(exchange.param("id"), admin)),
    },
    "/api/admin/mails/:id/retry": {
      POST: async (exchange, admin) => exchange.json(202, await mails.retry(exchange.param("id"), admin)),
    },
  };
}
