/** The tables of functions, and the steps from earlier versions. */
import type { ModuleSchema } from "../../store/database/index.ts";
import { handlerTable, sourceTable } from "../runs/index.ts";

export const functionSchema: ModuleSchema = {
  module: "functions",
  steps: [
    handlerTable,
    // A table of runs (runs/run-table.ts). The id is made of the event's place in the log (delivery-table.ts). `event` is a
    // copy, made when the log loses the event, or when the last attempt has failed.
    `CREATE TABLE _deliveries (
      id INTEGER PRIMARY KEY,
      handler INTEGER NOT NULL,
      subject TEXT NOT NULL,
      depth INTEGER NOT NULL,
      previous TEXT,
      failures INTEGER NOT NULL DEFAULT 0,
      notBefore INTEGER NOT NULL DEFAULT 0,
      failedAt INTEGER,
      error TEXT,
      event TEXT
    ) STRICT`,
    "CREATE INDEX _deliveries_failed ON _deliveries (failedAt) WHERE failedAt IS NOT NULL",
    // Shared records (delivery-table.ts): `follows` is the delivery with the event that made the record before this change,
    // and `result` the digest of the record that this event made.
    "ALTER TABLE _deliveries ADD COLUMN follows INTEGER",
    "ALTER TABLE _deliveries ADD COLUMN result TEXT",
    "CREATE INDEX _deliveries_follows ON _deliveries (follows) WHERE follows IS NOT NULL",
    "CREATE INDEX _deliveries_result ON _deliveries (result, handler) WHERE result IS NOT NULL",
    // JSON of the functions, jobs and hooks that led to the event; null for an event of a user.
    "ALTER TABLE _deliveries ADD COLUMN chain TEXT",
    // The source around the errors of runs, of jobs too (runs/source-table.ts).
    sourceTable,
  ],
};
