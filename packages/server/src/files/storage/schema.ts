/** Tables of files, and the steps that make the tables. */
import type { ModuleSchema } from "../../store/database/index.ts";

/** Spec, "Versioning": the file metadata table has an internal schema version 3. */
export const storageSchema: ModuleSchema = {
  module: "storage",
  steps: [
    `CREATE TABLE _files (
      _seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      filename TEXT NOT NULL,
      mimeType TEXT NOT NULL,
      size INTEGER NOT NULL,
      visibility TEXT NOT NULL,
      userId TEXT,
      createdAt TEXT NOT NULL
    ) STRICT`,
    // With the size, so that the bytes of a user are summed up in the index alone.
    "CREATE INDEX _files_user ON _files (userId, size)",
    // Ids under which a driver may hold bytes that are no file: not yet, or no more.
    "CREATE TABLE _file_remains (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
  ],
};
