/** Descriptions of the admin routes of the outbox. */
import { type DescribedRoutes, json, ref } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

export const mailsDescribed: DescribedRoutes = {
  tag: "Admin: mails",
  routes: {
    "/api/admin/mails": { GET: paging("The outbox", "MailEntry", { status: "waiting, sent, failed or kept." }) },
    "/api/admin/mails/:id": {
      GET: { summary: "A mail with its texts", access: "admin", answers: { 200: json(ref("MailDetail")) } },
    },
    "/api/admin/mails/:id/retry": {
      POST: {
        summary: "Send a mail again",
        access: "admin",
        answers: { 202: json(ref("MailEntry")) },
        errors: [400, 409],
      },
    },
  },
};
