/** Types and names on the wire. The package imports nothing, so that a server and any client can share the package. */
export * from "./admin.ts";
export * from "./attributes.ts";
export * from "./auth.ts";
export * from "./batch.ts";
export * from "./collections.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./mail.ts";
export * from "./permissions.ts";
export * from "./queries.ts";
export * from "./realtime.ts";
export * from "./rooms.ts";
export * from "./series.ts";
export * from "./storage.ts";
export * from "./testing.ts";
export * from "./transfer.ts";
export * from "./versions.ts";
export type * from "./wire/index.ts";
