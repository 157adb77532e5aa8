/** Routes for operators: the health answers (spec, "Health"), `/`, if a page is served, and the metrics for Prometheus. */
import type { Health } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, isSameSecret } from "../../../base/kernel/index.ts";
import type { Dashboard } from "../dashboard.ts";
import type { Routes } from "../router.ts";
import { asksForPage, type StaticFiles } from "../static-files.ts";

interface AliveOptions {
  version: string;
  files: StaticFiles | null;
  dashboard: Dashboard | null;
}

interface HealthOptions extends AliveOptions {
  /** Why the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
  /** Faults that leave the service ready, as lines. */
  notes?: (() => readonly string[]) | undefined;
}

const fresh = { "Cache-Control": "no-store" };

/**
 * `GET /` and `GET /health`. With a folder of static files, `/` is the `index.html`, if any;
 * otherwise a browser is led to the dashboard, if that is served.
 */
export function aliveRoutes({ version, files, dashboard }: AliveOptions): Routes {
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
  };
}

/** `aliveRoutes` and `GET /health/ready`. */
export function healthRoutes(options: HealthOptions): Routes {
  return { ...aliveRoutes(options), ...readinessRoutes(options) };
}

export function readinessRoutes(options: Pick<HealthOptions, "version" | "readiness" | "notes">): Routes {
  const { version, readiness, notes = () => [] } = options;
  return {
    "/health/ready": {
      async GET(exchange) {
        const reasons = await readiness();
        const told = notes();
        const body: Health = { status: "ok", version, ...(told.length > 0 && { notes: told }) };
        if (reasons.length === 0) return exchange.json(200, body, fresh);
        // Not an error that is thrown: the fault is the answer, and no line of the log.
        const error = new AppError("unavailable", `Not ready: ${reasons.join("; ").replace(/\.$/, "")}.`);
        return exchange.error(error, { headers: fresh });
      },
    },
  };
}

/** `GET /metrics`, for admins and for whoever has `metrics.token`: a scraper has no session. */
export function metricsRoutes({ config, metrics }: { config: Config; metrics: () => Promise<string> }): Routes {
  const token = config["metrics.token"];
  return {
    "/metrics": {
      async GET(exchange) {
        const given = exchange.token();
        const isScraper = given !== null && token !== undefined && isSameSecret(given, token.reveal());
        if (!isScraper) await exchange.admin();
        const type = "text/plain; version=0.0.4; charset=utf-8";
        return exchange.respond(200, await metrics(), { "Content-Type": type });
      },
    },
  };
}
