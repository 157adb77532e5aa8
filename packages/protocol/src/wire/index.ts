/** Shapes of the wire, by noun. A client imports the types alone, from the package itself. */
export * from "./accounts.ts";
export * from "./definitions.ts";
export * from "./failures.ts";
export * from "./files.ts";
export * from "./keys.ts";
export * from "./mails.ts";
export * from "./operation.ts";
export * from "./records.ts";
export * from "./scripts.ts";
export * from "./shape.ts";
export * from "./sql.ts";
export * from "./trace.ts";
export * from "./undo.ts";
