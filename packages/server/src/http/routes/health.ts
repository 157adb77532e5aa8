import type { Health } from "@socle/protocol";
import type { Route } from "../router.ts";

/** `GET /` and `GET /health` (spec, "Health"). */
export function healthRoutes(version: string): Route[] {
  const body: Health = { status: "ok", version };
  const methods: Route["methods"] = { GET: (exchange) => exchange.json(200, body) };
  return [
    { path: "/", methods },
    { path: "/health", methods },
  ];
}
