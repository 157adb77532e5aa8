/** The shapes of imports. */
import type { ErrorDetail } from "./errors.ts";

/** The outcome of an import (`POST /api/{collection}/import`). */
export interface ImportReport {
  /** Records that were created. */
  imported: number;
  /** Rows that were refused. */
  rejected: number;
  /** The first 1,000 rejected rows. */
  problems: { line: number; details: ErrorDetail[] }[];
}
