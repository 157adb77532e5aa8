/** HTTP: routes, one file a noun; the error → status table; CORS; the server itself. */
export { HttpServer } from "./server.ts";
export { StaticFiles } from "./static-files.ts";
