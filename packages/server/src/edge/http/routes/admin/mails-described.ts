/** Descriptions of the admin routes of the outbox. */
import { MAIL_STATUSES } from "@socle/protocol";
import { type DescribedRoutes, email, enumOf, json, jsonBody, parameter, ref } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

export const mailsDescribed: DescribedRoutes = {
  tag: "Admin: mails",
  routes: {
    "/api/admin/mails": {
      GET: paging("The outbox", "MailEntry", {
        status: parameter("A status.", enumOf(MAIL_STATUSES)),
        to: "The recipient.",
        search: "A part of the recipient.",
      }),
    },
    "/api/admin/mails/settings": {
      GET: { summary: "How mails are sent", access: "admin", answers: { 200: json(ref("MailSettings")) } },
    },
    "/api/admin/mails/test": {
      POST: {
        summary: "Send a test mail",
        access: "admin",
        body: jsonBody({ type: "object", properties: { to: email }, required: ["to"], additionalProperties: false }),
        answers: { 200: json(ref("MailTest"), "The outcome, also of a mail that the server refuses.") },
      },
    },
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
