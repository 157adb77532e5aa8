/** `/api/admin/scripts`, `/api/admin/functions` and `/api/admin/jobs`: files, handlers, runs, and repetition. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, answer, noContent, parameter, type Routes, route, unchecked } from "../../route.ts";
import type { KeepOpen } from "../../router.ts";
import { listRoute, pageRoute, waiterOf } from "./paging.ts";

const keys = true;
const started = answer(wire.runStarted, "The run has begun, or waits.");

export function scriptRoutes(api: { admin: Admin; keepOpen: KeepOpen }): Routes {
  return {
    "/api/admin/scripts": {
      GET: listRoute({
        summary: "The files of code",
        item: wire.scriptFileEntry,
        keys,
        all: () => api.admin.scripts.files(),
      }),
    },
    "/api/admin/scripts/reload": {
      POST: route({
        summary: "Load the code again",
        access,
        keys,
        answers: { 204: noContent("The service loads the code; the log tells the outcome.") },
        errors: [409],
        async handle(exchange, admin) {
          await api.admin.scripts.reload(admin);
          return exchange.empty();
        },
      }),
    },
    "/api/admin/functions": {
      GET: listRoute({
        summary: "The functions and hooks",
        item: wire.functionEntry,
        keys,
        all: () => api.admin.scripts.functions(),
      }),
    },
    "/api/admin/endpoints": {
      GET: listRoute({
        summary: "The endpoints",
        item: wire.endpointEntry,
        keys,
        all: () => api.admin.scripts.endpoints(),
      }),
    },
    "/api/admin/functions/runs": {
      GET: pageRoute({
        summary: "The runs of functions",
        item: wire.functionRun,
        keys,
        query: {
          status: parameter("A status.", wire.enumOf(["waiting", "running", "completed", "failed"])),
          filePath: parameter("The file of the function."),
        },
        find(page, exchange, admin) {
          const filter = { status: exchange.query("status"), filePath: exchange.query("filePath") };
          return api.admin.scripts.functionRuns(filter, { ...page, waiter: waiterOf(exchange, admin) });
        },
      }),
    },
    "/api/admin/functions/runs/:runId/retry": {
      POST: route({
        summary: "Run a failed function again",
        access,
        keys,
        answers: { 202: started },
        errors: [400, 409],
        async handle(exchange, admin) {
          const runId = exchange.param("runId");
          await api.admin.scripts.retryFunction(runId, admin);
          return { runId };
        },
      }),
    },
    "/api/admin/runs/:runId/preview": {
      POST: route({
        summary: "Preview a run with the present code",
        access,
        keys,
        answers: { 200: answer(wire.runPreview, "The effects that the run would have; nothing of the effects stays.") },
        errors: [400, 409],
        handle(exchange, admin) {
          const making = api.admin.scripts.preview(exchange.param("runId"), waiterOf(exchange, admin));
          api.keepOpen(exchange.request, making, Number.POSITIVE_INFINITY);
          return exchange.untilStop(making);
        },
      }),
    },
    "/api/admin/runs/:runId/source": {
      GET: route({
        summary: "The lines of code around the error of a run",
        access,
        keys,
        answers: { 200: wire.object({ source: wire.orNull(wire.sourceExcerpt) }) },
        handle: (exchange) => api.admin.scripts.runSource(exchange.param("runId")),
      }),
    },
    "/api/admin/jobs": {
      GET: listRoute({
        summary: "The jobs and queues",
        item: wire.jobEntry,
        keys,
        all: () => api.admin.scripts.jobs(),
      }),
    },
    "/api/admin/jobs/:name/runs": {
      GET: listRoute({
        summary: "The runs of a job",
        item: wire.jobRun,
        keys,
        all: (exchange) => api.admin.scripts.jobRuns(exchange.param("name")),
      }),
    },
    "/api/admin/jobs/:name/run": {
      POST: route({
        summary: "Run a job now",
        access,
        keys,
        answers: { 202: started },
        errors: [400, 409],
        handle: (exchange, admin) => api.admin.scripts.runJob(exchange.param("name"), admin),
      }),
    },
    "/api/admin/jobs/:name/enqueue": {
      POST: route({
        summary: "Add a run to a queue",
        access,
        keys,
        body: unchecked(wire.newQueueRun),
        answers: { 202: started },
        errors: [409],
        handle: (exchange, admin, body) => api.admin.scripts.enqueue(exchange.param("name"), body, admin),
      }),
    },
    "/api/admin/jobs/:name/queue": {
      GET: pageRoute({
        summary: "The runs of a queue that are not over",
        item: wire.queueRun,
        keys,
        query: { status: parameter("A status.", wire.enumOf(["waiting", "running", "failed"])) },
        find: (page, exchange) => api.admin.scripts.queueRuns(exchange.param("name"), exchange.query("status"), page),
      }),
    },
    "/api/admin/jobs/:name/queue/:runId": {
      GET: route({
        summary: "A run of a queue",
        access,
        keys,
        answers: { 200: wire.queueRunDetail },
        handle: (exchange) => api.admin.scripts.queueRun(exchange.param("name"), exchange.param("runId")),
      }),
      DELETE: route({
        summary: "Delete a run that waits or has failed",
        access,
        keys,
        answers: { 204: null },
        errors: [400, 409],
        handle: (exchange, admin) =>
          api.admin.scripts.deleteQueued(exchange.param("name"), exchange.param("runId"), admin),
      }),
    },
    "/api/admin/jobs/:name/queue/:runId/retry": {
      POST: route({
        summary: "Run a failed run again",
        access,
        keys,
        answers: { 202: started },
        errors: [400, 409],
        async handle(exchange, admin) {
          const runId = exchange.param("runId");
          await api.admin.scripts.retryQueued(exchange.param("name"), runId, admin);
          return { runId };
        },
      }),
    },
  };
}
