/** Collections: definitions and validation, plans and migrations, definition files. */

export {
  type Collection,
  columnName,
  columnsOf,
  derivedColumns,
  expressionSchema,
  foldedTableName,
  indexesOf,
  itemTableName,
  plainColumn,
  type SchemaSource,
  searchColumn,
  searchTableName,
  systemField,
  tableIndexes,
  tableName,
  type UserTable,
} from "./collection.ts";
export { collectionRenames, withNewTargets } from "./collection-renames.ts";
export { Collections, definitionsChanged } from "./collections.ts";
export { type Counter, counterKey, keepNumber, lastNumber } from "./counter-table.ts";
export { parseDefinition } from "./definition.ts";
export {
  applyDefinitionFiles,
  changeByFiles,
  changedDefinitions,
  type DefinitionText,
  keepAgreedTexts,
  readDefinitionFiles,
  readDefinitionTexts,
} from "./definition-files.ts";
export { collectionSchema, definitionsIn, viewsIn } from "./definition-table.ts";
export { DroppedRetention, restoreDropped, siteOfRestore } from "./dropped.ts";
export { droppedRows, entryOf } from "./dropped-table.ts";
export { isOfPredecessor } from "./log-marks.ts";
export { MigrationError } from "./migration-error.ts";
export {
  type CollectionPlan,
  type Definitions,
  keepUnsent,
  originOf,
  type ParsedDefinition,
  type ValueRename,
} from "./plan.ts";
export { planChange, type SchemaChange } from "./plan-change.ts";
export { givenRules, partsAt, type RuleSite, ruleSource, rulesAt, withRule } from "./rules.ts";
export { deleteSavedView, putSavedView, savedViews } from "./saved-view-table.ts";
export { checkRecords, countDropped, countText } from "./sql/data-check.ts";
export { plannedTables, unknownFields } from "./sql/planned-tables.ts";
export { viewSql } from "./sql/view-rows.ts";
export { trialCollection } from "./stored-collection.ts";
export { countRecords } from "./table.ts";
export {
  countTrash,
  emptyTrash,
  endTrash,
  forgetTrash,
  isTrashOver,
  putTrash,
  type TrashRow,
  trashOfRoot,
  trashPage,
  trashRow,
} from "./trash-table.ts";
export { forgetUnread, givesRight, noteRead } from "./unread-file-table.ts";
