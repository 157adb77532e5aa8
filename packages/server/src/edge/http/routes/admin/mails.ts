/** `/api/admin/mails`: the outbox, a mail, another attempt, and the sending of mails with a test. */
import { MAIL_STATUSES } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, answer, parameter, type Routes, route, unchecked } from "../../route.ts";
import { pageRoute } from "./paging.ts";

export function mailRoutes(api: { admin: Admin }): Routes {
  return {
    "/api/admin/mails": {
      GET: pageRoute({
        summary: "The outbox",
        item: wire.mailEntry,
        query: {
          status: parameter("A status.", wire.enumOf(MAIL_STATUSES)),
          to: parameter("The recipient."),
          search: parameter("A part of the recipient."),
        },
        find(page, exchange) {
          const [status, to, search] = [exchange.query("status"), exchange.query("to"), exchange.query("search")];
          return api.admin.mails.list({ status, to, search }, page);
        },
      }),
    },
    "/api/admin/mails/settings": {
      GET: route({
        summary: "How mails are sent",
        access,
        answers: { 200: wire.mailSettings },
        handle: () => api.admin.mails.settings(),
      }),
    },
    "/api/admin/mails/test": {
      POST: route({
        summary: "Send a test mail",
        access,
        body: unchecked(wire.only({ to: wire.email })),
        answers: { 200: answer(wire.mailTest, "The outcome, also of a mail that the server refuses.") },
        handle: (exchange, admin, body) => api.admin.mails.test(body, admin, exchange.request.signal),
      }),
    },
    "/api/admin/mails/:id": {
      GET: route({
        summary: "A mail with its texts",
        access,
        answers: { 200: wire.mailDetail },
        handle: (exchange, admin) => api.admin.mails.get(exchange.param("id"), admin),
      }),
    },
    "/api/admin/mails/:id/retry": {
      POST: route({
        summary: "Send a mail again",
        access,
        answers: { 202: wire.mailEntry },
        errors: [400, 409],
        handle: (exchange, admin) => api.admin.mails.retry(exchange.param("id"), admin),
      }),
    },
  };
}
