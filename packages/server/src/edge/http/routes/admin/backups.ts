/** `/api/admin/backups`: making, listing, downloading and removing backups. */

import { AppError, quote } from "../../../../base/kernel/index.ts";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import { answerFile } from "../../file-answer.ts";
import { pageOf, pageQuery } from "../../page-query.ts";
import type { AdminRoute } from "./for-admins.ts";

/** A body is not needed, and has no members. */
async function readEmptyBody(exchange: Exchange, limit: number): Promise<void> {
  const [key] = Object.keys((await exchange.optionalObject(limit)) ?? {});
  if (key !== undefined) throw new AppError("bad_request", `${quote(key)} cannot be set here; a backup needs no body.`);
}

export function backupRoutes({ backups }: Admin, bodyLimit: number): AdminRoute[] {
  return [
    {
      path: "/api/admin/backups",
      methods: {
        GET: async (exchange) => exchange.json(200, pageOf(await backups.list(), pageQuery(exchange))),
        async POST(exchange) {
          await readEmptyBody(exchange, bodyLimit);
          // The right may have ended while the body came.
          return exchange.json(202, backups.begin(await exchange.admin()));
        },
      },
    },
    {
      path: "/api/admin/backups/:name",
      methods: {
        async GET(exchange) {
          const name = exchange.param("name");
          const { size, modifiedAt } = await backups.find(name);
          return answerFile(exchange, {
            size,
            etag: `"${name}-${size}"`,
            modifiedAt,
            headers: {
              "Content-Type": "application/octet-stream",
              "Content-Disposition": `attachment; filename="${name}"`,
              "Cache-Control": "private, no-store",
            },
            read: (range) => backups.read(name, range),
          });
        },
        async DELETE(exchange) {
          await backups.remove(exchange.param("name"));
          return exchange.respond(204, null, {});
        },
      },
    },
  ];
}
