/** Types and names on the wire. The package imports nothing, so that a server and any client can share the package. */
export * from "./admin.ts";
export * from "./admin-scripts.ts";
export * from "./auth.ts";
export * from "./batch.ts";
export * from "./collections.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./health.ts";
export * from "./keys.ts";
export * from "./mail.ts";
export * from "./queries.ts";
export * from "./realtime.ts";
export * from "./series.ts";
export * from "./storage.ts";
export * from "./testing.ts";
export * from "./transfer.ts";
export * from "./versions.ts";
