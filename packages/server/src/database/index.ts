/** The database: opening, one writer with group commit and flush, checkpoints, schema versions. Only here is SQLite. */
export { Database, type DatabaseOptions, type ModuleSchema } from "./database.ts";
export { isUniqueViolation } from "./errors.ts";
export { identifier, type Reader, type Transactor, type Value } from "./types.ts";
