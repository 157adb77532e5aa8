/** Migrations of data: the files of `migrations/`, which run once each. */
export { migrationSchema } from "./migration-table.ts";
export { checkMigration, MigrationStopped, Migrations } from "./migrations.ts";
