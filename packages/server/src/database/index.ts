/** The database: opening, one writer with group commit and flush, checkpoints, schema versions. Only here is SQLite. */
export type { PausableReads } from "./checkpointer.ts";
export { Database, type DatabaseOptions, type ModuleSchema } from "./database.ts";
export { DatabaseFile, mergeLog, vacuumDatabase, vacuumPath } from "./database-file.ts";
export { hasMetDamage, isOutOfRoom, isUniqueViolation } from "./errors.ts";
export { stopProbe } from "./functions.ts";
export type { HeldState } from "./held-state.ts";
export { DatabaseLock } from "./lock.ts";
export type { LongRead } from "./long-read.ts";
export type { DatabaseMeter } from "./meter.ts";
export { asSetupError, makeFolder, syncFolder } from "./open-file.ts";
export { serveThread } from "./thread-server.ts";
export {
  identifier,
  literal,
  type QueryParameters,
  type Reader,
  type RowReader,
  SchemaChanged,
  type ScratchConnection,
  type Transactor,
  type Value,
  type Waiter,
} from "./types.ts";
export { UserQueries } from "./user-query.ts";
export type { MigrationPlace } from "./writer.ts";
