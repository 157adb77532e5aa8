/** The shapes of imports. */
import type { ErrorDetail } from "./errors.ts";

/** The header with the id of an import, for the requests of an admin that are parts of the import. */
export const IMPORT_HEADER = "Socle-Import";

/** The outcome of an import (`POST /api/{collection}/import`). */
export interface ImportReport {
  /** Records that were created; in a dry run, that would be created. */
  imported: number;
  /** Records that were changed, or found unchanged, with `update` or `upsert`. */
  updated: number;
  /** Rows that were refused. */
  rejected: number;
  /** Rows without any value, which are passed over. */
  skipped: number;
  /** Ids of records and files that do not exist, in rows with an id: the values are kept, as the export had the values. */
  unresolved: number;
  /** The id of the import, which its changes have as the cause: the `X-Request-Id` of the request. Absent in a dry run. */
  import?: string;
  /** The first 1,000 rejected rows. */
  problems: { line: number; details: ErrorDetail[] }[];
}
