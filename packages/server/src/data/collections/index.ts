/** Collections: definitions and their validation, plans and migrations, definition files. */

export { type Collection, columnName, columnsOf, orderColumn, plainColumn, tableName } from "./collection.ts";
export { Collections } from "./collections.ts";
export { type Counter, counterKey, keepNumber, lastNumber } from "./counter-table.ts";
export { applyDefinitionFiles, changedDefinitions, readDefinitionFiles } from "./definition-files.ts";
export { collectionSchema } from "./definition-table.ts";
export { expressionSchema, type SchemaSource, systemField, type UserTable } from "./expression-schema.ts";
export { indexesOf, keepIndexes } from "./indexes.ts";
export { itemTableName } from "./item-table.ts";
export { parseDefinition } from "./parse-definition.ts";
export { keepSearch } from "./parse-search.ts";
export type { CollectionPlan } from "./plan.ts";
export { type Definitions, MigrationError, planChange, type SchemaChange } from "./plan-change.ts";
export type { ParsedDefinition } from "./renames.ts";
export { type RuleSite, rulesAt } from "./rule-sites.ts";
export { searchColumn, searchTableName } from "./search-table.ts";
export { type TableIndex, tableIndexes } from "./table-indexes.ts";
