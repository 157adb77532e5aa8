/** The health answers (spec, "Health"), and `/`, if a page is served. */
import type { Health } from "@socle/protocol";
import { AppError } from "../../../base/kernel/index.ts";
import type { Dashboard } from "../dashboard.ts";
import type { Routes } from "../router.ts";
import { asksForPage, type StaticFiles } from "../static-files.ts";

interface HealthOptions {
  version: string;
  files: StaticFiles | null;
  dashboard: Dashboard | null;
  /** Why the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
}

const fresh = { "Cache-Control": "no-store" };

/**
 * `GET /`, `GET /health` and `GET /health/ready`. With a folder of static files, `/` is its `index.html`, if any; otherwise a browser is led to
 * the dashboard, if that is served.
 */
export function healthRoutes({ version, files, dashboard, readiness }: HealthOptions): Routes {
  const body: Health = { status: "ok", version };
  return {
    "/": {
      async GET(exchange) {
        if (files !== null && (await files.find("/")) !== null) return files.answer(exchange, "/");
        if (dashboard === null) return exchange.json(200, body);
        const headers = { Vary: "Accept" };
        // Relative: a proxy may have put something before the path.
        if (asksForPage(exchange.request)) return exchange.respond(302, null, { ...headers, Location: "_/" });
        return exchange.json(200, body, headers);
      },
    },
    "/health": { GET: (exchange) => exchange.json(200, body) },
    "/health/ready": {
      async GET(exchange) {
        const reasons = await readiness();
        if (reasons.length === 0) return exchange.json(200, body, fresh);
        // Not an error that is thrown: this is the answer, and no line of the log.
        return exchange.error(new AppError("unavailable", `Not ready: ${reasons.join("; ")}.`), {
          headers: fresh,
        });
      },
    },
  };
}
