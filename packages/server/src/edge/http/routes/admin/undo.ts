/** `/api/admin/undo`: what an undo of changes would do, an undo, and the progress of an undo. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, answer, parameter, type Routes, route, unchecked } from "../../route.ts";
import { isDryRun } from "./dry-run.ts";
import { waiterOf } from "./paging.ts";

export function undoRoutes(api: { admin: Admin }): Routes {
  return {
    "/api/admin/undo": {
      POST: route({
        summary: "Take changes of records back",
        access,
        query: {
          dryRun: parameter("Answers what the undo would do, and changes nothing.", wire.enumOf(["true", "false"])),
        },
        find: isDryRun,
        body: unchecked(wire.freeObject),
        answers: {
          200: answer(wire.undoPreview, "With `dryRun=true`: what the undo would do."),
          202: answer(wire.undoStarted, "The undo has begun."),
        },
        async handle(exchange, admin, body) {
          if (isDryRun(exchange))
            return exchange.json(200, await api.admin.undo.preview(body, waiterOf(exchange, admin)));
          return exchange.json(202, await api.admin.undo.start(body, waiterOf(exchange, admin)));
        },
      }),
    },
    "/api/admin/undo/:id": {
      GET: route({
        summary: "The progress of an undo",
        access,
        answers: { 200: wire.undoState },
        handle: (exchange) => api.admin.undo.get(exchange.param("id")),
      }),
    },
  };
}
