/** Descriptions of the admin routes of the user's code: files, functions, endpoints, jobs and queues. */
import {
  type DescribedRoutes,
  enumOf,
  json,
  jsonBody,
  noContent,
  orNull,
  parameter,
  ref,
} from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

const started = json(ref("RunStarted"), "The run has begun, or waits.");

export const scriptsDescribed: DescribedRoutes = {
  tag: "Admin: code",
  routes: {
    "/api/admin/scripts": { GET: paging("The files of code", "ScriptFileEntry") },
    "/api/admin/functions": { GET: paging("The functions and hooks", "FunctionEntry") },
    "/api/admin/endpoints": { GET: paging("The endpoints", "EndpointEntry") },
    "/api/admin/functions/runs": {
      GET: paging("The runs of functions", "FunctionRun", {
        status: parameter("A status.", enumOf(["waiting", "running", "completed", "failed"])),
        filePath: "The file of the function.",
      }),
    },
    "/api/admin/functions/runs/:runId/retry": {
      POST: { summary: "Run a failed function again", access: "admin", answers: { 202: started }, errors: [400, 409] },
    },
    "/api/admin/runs/:runId/source": {
      GET: {
        summary: "The lines of code around the error of a run",
        access: "admin",
        answers: {
          200: json({ type: "object", properties: { source: orNull(ref("SourceExcerpt")) }, required: ["source"] }),
        },
      },
    },
    "/api/admin/jobs": { GET: paging("The jobs and queues", "JobEntry") },
    "/api/admin/jobs/:name/runs": { GET: paging("The runs of a job", "JobRun") },
    "/api/admin/jobs/:name/run": {
      POST: { summary: "Run a job now", access: "admin", answers: { 202: started }, errors: [400, 409] },
    },
    "/api/admin/jobs/:name/enqueue": {
      POST: {
        summary: "Add a run to a queue",
        access: "admin",
        body: jsonBody(ref("NewQueueRun")),
        answers: { 202: started },
        errors: [409],
      },
    },
    "/api/admin/jobs/:name/queue": {
      GET: paging("The runs of a queue that are not over", "QueueRun", {
        status: parameter("A status.", enumOf(["waiting", "running", "failed"])),
      }),
    },
    "/api/admin/jobs/:name/queue/:runId": {
      GET: { summary: "A run of a queue", access: "admin", answers: { 200: json(ref("QueueRunDetail")) } },
      DELETE: {
        summary: "Delete a run that waits or has failed",
        access: "admin",
        answers: { 204: noContent() },
        errors: [400, 409],
      },
    },
    "/api/admin/jobs/:name/queue/:runId/retry": {
      POST: { summary: "Run a failed run again", access: "admin", answers: { 202: started }, errors: [400, 409] },
    },
  },
};
