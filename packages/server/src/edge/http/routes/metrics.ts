/** Route of the metrics, for Prometheus. */

import type { Config } from "../../../base/config/index.ts";
import { isSameSecret } from "../../../base/kernel/index.ts";
import type { Admin } from "../../../operate/admin/index.ts";
import type { Exchange } from "../exchange.ts";
import type { Routes } from "../router.ts";

/** `GET /metrics`, for admins and for whoever has `metrics.token`: a scraper has no session. */
export function metricsRoutes({ admin, config }: { admin: Admin; config: Config }): Routes {
  const token = config["metrics.token"];
  const isScraper = (exchange: Exchange): boolean => {
    const given = exchange.token();
    return given !== null && token !== undefined && isSameSecret(given, token.reveal());
  };
  return {
    "/metrics": {
      async GET(exchange) {
        if (!isScraper(exchange)) await exchange.admin();
        const type = "text/plain; version=0.0.4; charset=utf-8";
        return exchange.respond(200, await admin.overviews.metrics(), { "Content-Type": type });
      },
    },
  };
}
