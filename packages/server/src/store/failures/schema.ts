/** The tables of failures: the groups, and the retries of groups. */
import type { ModuleSchema } from "../database/index.ts";

export const failureSchema: ModuleSchema = {
  module: "failures",
  steps: [
    // Times are milliseconds since 1970. `runs` and `records` are JSON of ids, the newest first.
    `CREATE TABLE _failure_groups (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL,
      file TEXT,
      line INTEGER,
      message TEXT NOT NULL,
      example TEXT NOT NULL,
      count INTEGER NOT NULL,
      first INTEGER NOT NULL,
      last INTEGER NOT NULL,
      runs TEXT NOT NULL,
      records TEXT NOT NULL,
      status TEXT NOT NULL,
      seenAgain INTEGER NOT NULL
    ) STRICT`,
    "CREATE INDEX _failure_groups_last ON _failure_groups (last, id)",
    // `runs` is JSON of references to the runs of a retry; those before `next` wait again already.
    `CREATE TABLE _failure_retries (
      id TEXT PRIMARY KEY,
      startedAt INTEGER NOT NULL,
      runs TEXT NOT NULL,
      next INTEGER NOT NULL,
      error TEXT
    ) STRICT`,
    // The row says that the failures of an earlier version are to be grouped.
    "CREATE TABLE _failure_upgrade (only INTEGER PRIMARY KEY) STRICT",
    "INSERT INTO _failure_upgrade (only) VALUES (1)",
  ],
};
