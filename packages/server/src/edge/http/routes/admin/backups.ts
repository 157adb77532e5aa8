/** `/api/admin/backups`: making, listing, downloading and removing backups. */

import { AppError, quote } from "../../../../base/kernel/index.ts";
import type { Admin } from "../../../../operate/admin/index.ts";
import { answerFile } from "../../file-response.ts";
import { type AdminRoutes, answerPageOf } from "./for-admins.ts";

export function backupRoutes({ backups }: Admin): AdminRoutes {
  return {
    "/api/admin/backups": {
      GET: async (exchange) => answerPageOf(exchange, await backups.list()),
      async POST(exchange) {
        const [key] = Object.keys((await exchange.optionalObject()) ?? {});
        if (key !== undefined)
          throw new AppError("bad_request", `${quote(key)} cannot be set here; a backup needs no body.`);
        // The right may have ended while the body came.
        return exchange.json(202, backups.begin(await exchange.admin()));
      },
    },
    "/api/admin/backups/:name": {
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
        return exchange.empty();
      },
    },
  };
}
