/** `/api/{collection}/{id}/history`: the changes of a record, and the erasure of the values. */
import { MAX_HISTORY_LIMIT } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import type { Records } from "../../../data/records/index.ts";
import type { Admin } from "../../../operate/admin/index.ts";
import type { Histories } from "../../../operate/history/index.ts";
import { answer, noContent, ownRoute, parameter, type Routes } from "../route.ts";
import { wholeNumberOf } from "./page-parameters.ts";
import { collectionOf } from "./records.ts";

const defaultLimit = 50;

export function historyRoutes(api: { histories: Histories; records: Records; admin: Admin }): Routes {
  return {
    "/api/:collection/:id/history": {
      GET: ownRoute({
        summary: "The changes of a record of :collection",
        description: "Newest first, as far as the event log has the changes. For admins, and by the rule history.",
        access: "rules",
        operation: "history",
        keys: true,
        rate: "records",
        query: {
          limit: parameter(`Changes of a page; ${defaultLimit} by default.`, {
            schema: { type: "integer", minimum: 1, maximum: MAX_HISTORY_LIMIT },
          }),
          cursor: parameter("The nextCursor of the page before."),
        },
        answers: { 200: answer(wire.recordHistory, "The changes.") },
        async handle(exchange) {
          const collection = collectionOf(api.records, exchange.param("collection"));
          const principal = await exchange.principal();
          const page = {
            id: exchange.param("id"),
            limit: wholeNumberOf(exchange, "limit", MAX_HISTORY_LIMIT) ?? defaultLimit,
            before: wholeNumberOf(exchange, "cursor", Number.MAX_SAFE_INTEGER),
          };
          const waiter = { principal, caller: exchange.callerKey(principal), signal: exchange.request.signal };
          return exchange.json(200, await api.histories.page(collection, waiter, page), {
            "Cache-Control": "private, no-store",
          });
        },
      }),
      DELETE: ownRoute({
        summary: "Erase the values in the history of a record of :collection",
        description: "The event log keeps that, when and by whom the record was changed.",
        access: "admin",
        operation: "history",
        answers: { 204: noContent() },
        errors: [404],
        async handle(exchange) {
          const collection = collectionOf(api.records, exchange.param("collection"));
          await api.admin.eraseHistory(collection, exchange.param("id"), await exchange.admin());
          return exchange.empty();
        },
      }),
    },
  };
}
