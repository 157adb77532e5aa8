/** Admin routes of functions and jobs: files, handlers, runs, and their repetition. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { pageOf, pageQuery, toPage } from "../../page-query.ts";
import { type AdminRoute, readAdminBody, waiterOf } from "./for-admins.ts";

/** `/api/admin/scripts`, `/api/admin/functions` and `/api/admin/jobs`: files, handlers, runs, and their repetition. */
export function scriptRoutes({ scripts }: Admin, bodyLimit: number): AdminRoute[] {
  return [
    {
      path: "/api/admin/scripts",
      methods: { GET: (exchange) => exchange.json(200, pageOf(scripts.files(), pageQuery(exchange))) },
    },
    {
      path: "/api/admin/functions",
      methods: { GET: (exchange) => exchange.json(200, pageOf(scripts.functions(), pageQuery(exchange))) },
    },
    {
      path: "/api/admin/endpoints",
      methods: { GET: (exchange) => exchange.json(200, pageOf(scripts.endpoints(), pageQuery(exchange))) },
    },
    {
      path: "/api/admin/functions/runs",
      methods: {
        async GET(exchange, admin) {
          const query = pageQuery(exchange);
          const filter = { status: exchange.query("status"), filePath: exchange.query("filePath") };
          const runs = await scripts.functionRuns(filter, { ...query, waiter: waiterOf(exchange, admin) });
          return exchange.json(200, toPage(runs, query));
        },
      },
    },
    {
      path: "/api/admin/functions/runs/:runId/retry",
      methods: {
        async POST(exchange, admin) {
          const runId = exchange.param("runId");
          await scripts.retryFunction(runId, admin);
          return exchange.json(202, { runId });
        },
      },
    },
    {
      path: "/api/admin/jobs",
      methods: { GET: (exchange) => exchange.json(200, pageOf(scripts.jobs(), pageQuery(exchange))) },
    },
    {
      path: "/api/admin/jobs/:name/runs",
      methods: {
        GET: (exchange) => exchange.json(200, pageOf(scripts.jobRuns(exchange.param("name")), pageQuery(exchange))),
      },
    },
    {
      path: "/api/admin/jobs/:name/run",
      methods: {
        POST: async (exchange, admin) => exchange.json(202, await scripts.runJob(exchange.param("name"), admin)),
      },
    },
    {
      path: "/api/admin/jobs/:name/enqueue",
      methods: {
        async POST(exchange, admin) {
          const body = await readAdminBody(exchange, bodyLimit);
          return exchange.json(202, await scripts.enqueue(exchange.param("name"), body, admin));
        },
      },
    },
    {
      path: "/api/admin/jobs/:name/queue",
      methods: {
        GET(exchange) {
          const query = pageQuery(exchange);
          const runs = scripts.queueRuns(exchange.param("name"), exchange.query("status"), query);
          return exchange.json(200, toPage(runs, query));
        },
      },
    },
    {
      path: "/api/admin/jobs/:name/queue/:runId",
      methods: {
        GET: (exchange) => exchange.json(200, scripts.queueRun(exchange.param("name"), exchange.param("runId"))),
        async DELETE(exchange, admin) {
          await scripts.deleteQueued(exchange.param("name"), exchange.param("runId"), admin);
          return exchange.empty();
        },
      },
    },
    {
      path: "/api/admin/jobs/:name/queue/:runId/retry",
      methods: {
        async POST(exchange, admin) {
          const runId = exchange.param("runId");
          await scripts.retryQueued(exchange.param("name"), runId, admin);
          return exchange.json(202, { runId });
        },
      },
    },
  ];
}
