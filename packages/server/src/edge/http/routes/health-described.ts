/** Descriptions of the routes for operators. */
import { type DescribedRoutes, json, ref, textOf } from "../../openapi/index.ts";

export const healthDescribed: DescribedRoutes = {
  tag: "Service",
  routes: {
    "/": {
      GET: {
        summary: "The health answer; a page for a browser",
        access: "anybody",
        answers: {
          200: { description: "Healthy.", content: { "application/json": ref("Health"), "text/html": {} } },
          302: { description: "A browser is led to the dashboard.", content: {}, headers: ["Location"] },
        },
      },
    },
    "/health": {
      GET: { summary: "Whether the service runs", access: "anybody", answers: { 200: json(ref("Health")) } },
    },
    "/health/ready": {
      GET: { summary: "Whether the service can work now", access: "anybody", answers: { 200: json(ref("Health")) } },
    },
    "/metrics": {
      GET: {
        summary: "Metrics for Prometheus",
        description: "For admins, and with the token of metrics.token.",
        access: "admin",
        answers: { 200: textOf("text/plain", "The metrics.") },
      },
    },
  },
};
