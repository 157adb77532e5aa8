/** The database: the interface that modules use (`store.ts`), and its engine (`sqlite/`), the only code that knows SQLite. */
export { type Note, noteKind, Projection } from "./projection.ts";
export { DatabaseFile, mergeLog, vacuumDatabase, vacuumPath } from "./sqlite/database-file.ts";
export { hasMetDamage, isOutOfRoom, isUniqueViolation } from "./sqlite/errors.ts";
export { stopProbe } from "./sqlite/functions.ts";
export { DatabaseLock } from "./sqlite/lock.ts";
export { asSetupError, makeFolder, syncFolder } from "./sqlite/open-file.ts";
export { SqliteDatabase, type SqliteOptions } from "./sqlite/sqlite-database.ts";
export { serveThread } from "./sqlite/thread-server.ts";
export { UserQueries } from "./sqlite/user-query.ts";
export {
  asSlowReader,
  type CallersLongWork,
  type CallersWork,
  type Database,
  type HeldState,
  identifier,
  type LongRead,
  literal,
  type Migration,
  type MigrationSite,
  type ModuleSchema,
  type PausableReads,
  type QueryParameters,
  type QueryTable,
  type Reader,
  SchemaChanged,
  type ScratchConnection,
  type SlowReader,
  type SlowTransactor,
  type TransactOptions,
  type Transactor,
  type Value,
  type Waiter,
} from "./store.ts";
