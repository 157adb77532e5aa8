/** HTTP: routes, one file a noun; the error → status table; CORS; the server itself. */

export { RateLimiter } from "./rate-limiter.ts";
export { firstAdminPath } from "./routes/first-admin.ts";
export { HttpServer } from "./server.ts";
export { StaticFiles } from "./static-files.ts";
