/** The visibility of stored files, and the limits. */

export const VISIBILITIES = ["public", "record", "protected"] as const;
/**
 * The callers that may download a file: anyone; the owner, admins and all readers of a record that points to the file;
 * or the owner and admins alone (spec, "Storage endpoints").
 */
export type Visibility = (typeof VISIBILITIES)[number];

/** The largest file, in bytes; a file of just this size is fine (spec, "Limits"). */
export const MAX_FILE_SIZE = 10 * 1024 * 1024;
