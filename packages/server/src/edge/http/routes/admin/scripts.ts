/** `/api/admin/scripts`, `/api/admin/functions` and `/api/admin/jobs`: files, handlers, runs, and repetition. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { type AdminRoutes, answerPage, answerPageOf, readAdminBody, waiterOf } from "./for-admins.ts";

export function scriptRoutes({ scripts }: Admin): AdminRoutes {
  return {
    "/api/admin/scripts": { GET: (exchange) => answerPageOf(exchange, scripts.files()) },
    "/api/admin/functions": { GET: (exchange) => answerPageOf(exchange, scripts.functions()) },
    "/api/admin/endpoints": { GET: (exchange) => answerPageOf(exchange, scripts.endpoints()) },
    "/api/admin/functions/runs": {
      GET(exchange, admin) {
        const filter = { status: exchange.query("status"), filePath: exchange.query("filePath") };
        const waiter = waiterOf(exchange, admin);
        return answerPage(exchange, (page) => scripts.functionRuns(filter, { ...page, waiter }));
      },
    },
    "/api/admin/functions/runs/:runId/retry": {
      async POST(exchange, admin) {
        const runId = exchange.param("runId");
        await scripts.retryFunction(runId, admin);
        return exchange.json(202, { runId });
      },
    },
    "/api/admin/runs/:runId/source": {
      GET: (exchange) => exchange.json(200, scripts.runSource(exchange.param("runId"))),
    },
    "/api/admin/jobs": { GET: (exchange) => answerPageOf(exchange, scripts.jobs()) },
    "/api/admin/jobs/:name/runs": {
      GET: (exchange) => answerPageOf(exchange, scripts.jobRuns(exchange.param("name"))),
    },
    "/api/admin/jobs/:name/run": {
      POST: async (exchange, admin) => exchange.json(202, await scripts.runJob(exchange.param("name"), admin)),
    },
    "/api/admin/jobs/:name/enqueue": {
      async POST(exchange, admin) {
        const body = await readAdminBody(exchange);
        return exchange.json(202, await scripts.enqueue(exchange.param("name"), body, admin));
      },
    },
    "/api/admin/jobs/:name/queue": {
      GET: (exchange) =>
        answerPage(exchange, (page) => scripts.queueRuns(exchange.param("name"), exchange.query("status"), page)),
    },
    "/api/admin/jobs/:name/queue/:runId": {
      GET: (exchange) => exchange.json(200, scripts.queueRun(exchange.param("name"), exchange.param("runId"))),
      async DELETE(exchange, admin) {
        await scripts.deleteQueued(exchange.param("name"), exchange.param("runId"), admin);
        return exchange.empty();
      },
    },
    "/api/admin/jobs/:name/queue/:runId/retry": {
      async POST(exchange, admin) {
        const runId = exchange.param("runId");
        await scripts.retryQueued(exchange.param("name"), runId, admin);
        return exchange.json(202, { runId });
      },
    },
  };
}
