/** Route of the metrics, for Prometheus. */

import { isSameSecret, type Secret } from "../../../base/kernel/index.ts";
import type { Overviews } from "../../../operate/admin/index.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../router.ts";

/** `GET /metrics`, for admins and for whoever has `metrics.token`: a scraper has no session. */
export function metricsRoutes({ overviews, token }: { overviews: Overviews; token: Secret | undefined }): Route[] {
  const isScraper = (exchange: Exchange): boolean => {
    const given = exchange.token();
    return given !== null && token !== undefined && isSameSecret(given, token.reveal());
  };
  return [
    {
      path: "/metrics",
      methods: {
        async GET(exchange) {
          if (!isScraper(exchange)) await exchange.admin();
          const type = "text/plain; version=0.0.4; charset=utf-8";
          return exchange.respond(200, await overviews.metrics(), { "Content-Type": type });
        },
      },
    },
  ];
}
