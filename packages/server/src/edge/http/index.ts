/** HTTP: the routes, a file for each kind of thing; the status of each error code; CORS; static files and the dashboard; the server, HTTPS. */

export { Acme } from "./acme.ts";
export { type ApiParts, type InstancePart, openRouter, type ServingParts } from "./api-router.ts";
export { AuthPages } from "./auth-page.ts";
export { AuthPageTexts } from "./auth-page-texts.ts";
export { Certificate } from "./certificate.ts";
export { clientBuild } from "./client-build.ts";
export { Dashboard, dashboardPath, dashboardSetupPath, EmbeddedFiles } from "./dashboard.ts";
export { dashboardBuild } from "./dashboard-build.ts";
export { errorParts, errorResponse } from "./error-response.ts";
export { type Exchange, type GivenAnswer, isWhole, type WritePositions } from "./exchange.ts";
export type { ForwardRequest, RoutePlace } from "./forwarding.ts";
export { nothingHere, pathIn } from "./headers.ts";
export { KeptAnswers, keptAnswerSchema } from "./idempotency-table.ts";
export { LiveStreams } from "./live-streams.ts";
export { PassedRequest } from "./passed-request.ts";
export { projectDocument } from "./project-document.ts";
export { openReaderRouter } from "./reader-router.ts";
export { type PassedOperation, type RunOperation, runOperation, type WrittenRecord } from "./record-operations.ts";
export { lateBody } from "./response-stream.ts";
export type { Routes } from "./route.ts";
export { firstAdminPath } from "./routes/auth.ts";
export { freePort, HttpServer } from "./server.ts";
export { StaticFiles } from "./static-files.ts";
