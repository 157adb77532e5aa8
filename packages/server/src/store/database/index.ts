/**
 * The database: the class that modules use (`database.ts`), reads (`store.ts`) and transactions (`transaction.ts`), and
 * the parts (`sqlite/`), the only code that knows the driver.
 */
export { Database, type DatabaseOptions } from "./database.ts";
export { type CommitEntry, changesVersions, EntryMismatch, type MigrationSite, type Note } from "./entry.ts";
export { type ReadOnlyState, readOnlySchema } from "./read-only.ts";
export type { Rehearsal } from "./rehearsal.ts";
export {
  DatabaseFile,
  enterJournal,
  leaveJournal,
  mergeLog,
  placeInFile,
  vacuumDatabase,
  vacuumPath,
  WorkFile,
} from "./sqlite/database-file.ts";
export {
  hasMetDamage,
  ifDamaged,
  isOutOfRoom,
  isUniqueViolation,
  outcomeUnknown,
  reasonOfEnd,
} from "./sqlite/errors.ts";
export { stopProbe } from "./sqlite/functions.ts";
export type { HeldState } from "./sqlite/held-state.ts";
export { asSetupError, DatabaseInUse, DatabaseLock, makeFolder, syncFolder, versionsOf } from "./sqlite/open-file.ts";
export { historyOf, placeOf, positionOf } from "./sqlite/position-table.ts";
export { type SelectShape, type ShapeTable, selectShape } from "./sqlite/select-shape.ts";
export { ProcessReads, serveThread } from "./sqlite/thread-server.ts";
export { type ShownQuery, UserQueries } from "./sqlite/user-query.ts";
export {
  asSlowReader,
  identifier,
  type LongRead,
  literal,
  type PausableReads,
  type QueryParameters,
  type QueryTable,
  type Reader,
  SchemaChanged,
  type ScratchConnection,
  type SlowReader,
  type Value,
  type Waiter,
} from "./store.ts";
export {
  type CallersWork,
  type CommitCopies,
  type CommitPoint,
  chainSchema,
  type Followers,
  type KeptCommit,
  type Migration,
  type ModuleSchema,
  noteKind,
  notesOf,
  Projection,
  positionSchema,
  runsEntries,
  type SlowTransactor,
  type ToldCommit,
  type TransactOptions,
  type Transactor,
  type UndecidedCommit,
} from "./transaction.ts";
