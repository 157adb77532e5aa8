/** Routes for operators: the health answers (spec, "Health"), `/`, if a page is served, and the metrics for Prometheus. */
import * as wire from "@socle/protocol/wire";
import type { Config } from "../../../base/config/index.ts";
import { AppError, isSameSecret } from "../../../base/kernel/index.ts";
import type { Dashboard } from "../dashboard.ts";
import { anybody, ownRoute, type Routes, route, textAnswer } from "../route.ts";
import { asksForPage, type StaticFiles } from "../static-files.ts";

interface AliveParts {
  readonly version: string;
  readonly files: StaticFiles | null;
  readonly dashboard: Dashboard | null;
}

interface ReadinessParts {
  readonly version: string;
  /** Why the service is not ready; empty for a ready service. */
  readonly readiness: () => Promise<readonly string[]>;
  /** Faults that leave the service ready, as lines. */
  readonly notes?: (() => readonly string[]) | undefined;
}

const fresh = { "Cache-Control": "no-store" };

function healthOf({ version }: { version: string }): wire.Health {
  return { status: "ok", version };
}

/**
 * `GET /` and `GET /health`. With a folder of static files, `/` is the `index.html`, if any;
 * otherwise a browser is led to the dashboard, if that is served.
 */
export function aliveRoutes(api: AliveParts): Routes {
  return {
    "/": {
      GET: ownRoute({
        summary: "The health answer; a page for a browser",
        access: "anybody",
        keys: true,
        answers: {
          200: { description: "Healthy.", content: { "application/json": wire.health.schema, "text/html": {} } },
          302: { description: "A browser is led to the dashboard.", content: {}, headers: ["Location"] },
        },
        async handle(exchange) {
          const { files, dashboard } = api;
          if (files !== null && (await files.find("/")) !== null) return files.answer(exchange, "/");
          if (dashboard === null) return exchange.json(200, healthOf(api));
          const headers = { Vary: "Accept" };
          // Relative: a proxy may have put something before the path.
          if (asksForPage(exchange.request)) return exchange.respond(302, null, { ...headers, Location: "_/" });
          return exchange.json(200, healthOf(api), headers);
        },
      }),
    },
    "/health": {
      GET: route({
        summary: "Whether the service runs",
        access: anybody,
        keys: true,
        answers: { 200: wire.health },
        handle: () => healthOf(api),
      }),
    },
  };
}

export function readinessRoutes(api: ReadinessParts): Routes {
  return {
    "/health/ready": {
      GET: route({
        summary: "Whether the service can work now",
        access: anybody,
        keys: true,
        answers: { 200: wire.health },
        async handle(exchange) {
          const reasons = await api.readiness();
          const notes = api.notes?.() ?? [];
          const body = { ...healthOf(api), ...(notes.length > 0 && { notes: [...notes] }) };
          if (reasons.length === 0) return exchange.json(200, body, fresh);
          // Not an error that is thrown: the fault is the answer, and no line of the log.
          const error = new AppError("unavailable", `Not ready: ${reasons.join("; ").replace(/\.$/, "")}.`);
          return exchange.error(error, { headers: fresh });
        },
      }),
    },
  };
}

/** `GET /metrics`, for admins and for whoever has `metrics.token`: a scraper has no session. */
export function metricsRoutes(api: { config: Config; metrics: () => Promise<string> }): Routes {
  return {
    "/metrics": {
      GET: ownRoute({
        summary: "Metrics for Prometheus",
        description: "For admins, and with the token of metrics.token.",
        access: "admin",
        keys: true,
        answers: { 200: textAnswer("text/plain", "The metrics.") },
        async handle(exchange) {
          const token = api.config["metrics.token"];
          const given = exchange.token();
          const isScraper = given !== null && token !== undefined && isSameSecret(given, token.reveal());
          if (!isScraper) await exchange.admin();
          const type = "text/plain; version=0.0.4; charset=utf-8";
          return exchange.respond(200, await api.metrics(), { "Content-Type": type });
        },
      }),
    },
  };
}
