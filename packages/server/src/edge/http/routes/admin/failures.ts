/** `/api/admin/failures`: the groups of failures with one cause, their status, and the retry of the runs of a group. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, answer, parameter, type Route, type Routes, route } from "../../route.ts";
import { pageIn, pageQuery } from "./paging.ts";

const keys = true;

export function failureRoutes(api: { admin: Admin }): Routes {
  const statusRoute = (summary: string, status: wire.FailureStatus): { POST: Route } => ({
    POST: route({
      summary,
      access,
      keys,
      answers: { 200: wire.failureGroup },
      errors: [409],
      handle: (exchange, admin) => api.admin.failures.setStatus(exchange.param("group"), status, admin),
    }),
  });
  return {
    "/api/admin/failures": {
      GET: route({
        summary: "The failures, grouped by cause",
        access,
        keys,
        query: {
          status: parameter("A status.", wire.enumOf(wire.FAILURE_STATUSES)),
          kind: parameter("A kind of work.", wire.enumOf(wire.FAILURE_KINDS)),
          cursor: parameter("The `nextCursor` of the page before."),
          limit: pageQuery.limit,
        },
        answers: { 200: wire.failurePage },
        handle(exchange) {
          const [status, kind, cursor] = [exchange.query("status"), exchange.query("kind"), exchange.query("cursor")];
          return api.admin.failures.list({ status, kind, cursor, limit: pageIn(exchange).limit });
        },
      }),
    },
    "/api/admin/failures/retry": {
      POST: route({
        summary: "Run all failed runs of a kind again",
        access,
        keys,
        body: wire.failureRetryAll,
        answers: { 202: answer(wire.failureRetriesStarted, "The retries go on in the service.") },
        errors: [409],
        handle: (_exchange, admin, chosen) => api.admin.failures.retryAll(chosen, admin),
      }),
    },
    "/api/admin/failures/:group": {
      GET: route({
        summary: "A group of failures, with the progress of its retry",
        access,
        keys,
        answers: { 200: wire.failureGroup },
        handle: (exchange) => api.admin.failures.get(exchange.param("group")),
      }),
    },
    "/api/admin/failures/:group/retry": {
      POST: route({
        summary: "Run the failed runs of a group again",
        access,
        keys,
        answers: { 202: answer(wire.failureRetryStarted, "The retry goes on in the service.") },
        errors: [400, 409],
        handle: (exchange, admin) => api.admin.failures.retry(exchange.param("group"), admin),
      }),
    },
    "/api/admin/failures/:group/mute": statusRoute("Mute a group: it is not counted as open", "muted"),
    "/api/admin/failures/:group/resolve": statusRoute("Resolve a group, until its cause is seen again", "resolved"),
    "/api/admin/failures/:group/reopen": statusRoute("Make a muted or resolved group open again", "open"),
  };
}
