/** The health answers (spec, "Health"), and `/` where there is a page for it. */
import type { Health } from "@socle/protocol";
import type { Dashboard } from "../dashboard.ts";
import type { Route } from "../router.ts";
import { asksForPage, type StaticFiles } from "../static-files.ts";

interface HealthOptions {
  version: string;
  files: StaticFiles | null;
  dashboard: Dashboard | null;
}

/**
 * `GET /` and `GET /health`. With a folder of static files, `/` is its `index.html` if it has one; else a browser is led to
 * the dashboard, if that is served.
 */
export function healthRoutes({ version, files, dashboard }: HealthOptions): Route[] {
  const body: Health = { status: "ok", version };
  return [
    {
      path: "/",
      methods: {
        async GET(exchange) {
          if (files !== null && (await files.find("/")) !== null) return files.answer(exchange, "/");
          if (dashboard === null) return exchange.json(200, body);
          const headers = { Vary: "Accept" };
          // Relative: a proxy may have put something before the path.
          if (asksForPage(exchange.request)) return exchange.respond(302, null, { ...headers, Location: "_/" });
          return exchange.respond(200, JSON.stringify(body), { ...headers, "Content-Type": "application/json" });
        },
      },
    },
    { path: "/health", methods: { GET: (exchange) => exchange.json(200, body) } },
  ];
}
