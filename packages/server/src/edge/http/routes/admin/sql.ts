/** `/api/admin/sql`: a statement of an admin, which only reads, with its plan. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, parameter, type Routes, route } from "../../route.ts";
import { isDryRun } from "./dry-run.ts";
import { waiterOf } from "./paging.ts";

export function sqlRoutes(api: { admin: Admin }): Routes {
  return {
    "/api/admin/sql": {
      POST: route({
        summary: "Run a statement that reads",
        access,
        query: { dryRun: parameter("Answers the plan alone.", wire.enumOf(["true", "false"])) },
        find: isDryRun,
        body: wire.sqlStatement,
        answers: { 200: wire.sqlAnswer },
        errors: [409, 503],
        handle(exchange, admin, { sql }) {
          const waiter = waiterOf(exchange, admin);
          return isDryRun(exchange) ? api.admin.sql.plan(sql, waiter) : api.admin.sql.run(sql, waiter);
        },
      }),
    },
  };
}
