/** Metadata of stored files, the visibility and the limits. */

export const VISIBILITIES = ["public", "record", "protected"] as const;
/**
 * The callers that may download a file: anyone; the owner, admins and all readers of a record that points to the file;
 * or the owner and admins alone (spec, "Storage endpoints").
 */
export type Visibility = (typeof VISIBILITIES)[number];

/** The largest file, in bytes; a file of just this size is fine (spec, "Limits"). */
export const MAX_FILE_SIZE = 10 * 1024 * 1024;

/** The metadata of a stored file. */
export interface StoredFile {
  /** `fil_` and a UUIDv7. */
  id: string;
  /** The name that the uploader gave, without a path. */
  filename: string;
  /** The type by the bytes if possible, otherwise by the name. */
  mimeType: string;
  size: number;
  visibility: Visibility;
  /** The uploader; null for the service. */
  userId: string | null;
  createdAt: string;
  /** The path of the content on the service: `/api/storage/fil_…`. */
  url: string;
}

/** An address that gives a file to every holder of the address, without a token, until the address expires. */
export interface FileLink {
  /** From the root of the service: `/api/storage/fil_…?expires=…&signature=…`. */
  url: string;
  /** ISO 8601 UTC. */
  expiresAt: string;
}
