/** Metadata of stored files, their visibility and their limits. */

export const VISIBILITIES = ["public", "record", "protected"] as const;
/**
 * The callers that may download a file: anyone; its owner, admins and all who may read a record that points to it; or its owner
 * and admins alone (spec, "Storage endpoints").
 */
export type Visibility = (typeof VISIBILITIES)[number];

/** The largest file, in bytes; a file of just this size is fine (spec, "Limits"). */
export const MAX_FILE_SIZE = 10 * 1024 * 1024;

/** The metadata of a stored file. */
export interface StoredFile {
  /** `fil_` and a UUIDv7. */
  id: string;
  /** As the uploader named it, without a path. */
  filename: string;
  /** From the bytes where they tell, else from the name. */
  mimeType: string;
  /** Bytes. */
  size: number;
  visibility: Visibility;
  /** The uploader; null for the service itself. */
  userId: string | null;
  createdAt: string;
  /** Where its content is, from the root of the service: `/api/storage/fil_…`. */
  url: string;
}

/** An address that gives a file to whoever has it, without a token, until it expires. */
export interface FileLink {
  /** From the root of the service: `/api/storage/fil_…?expires=…&signature=…`. */
  url: string;
  /** ISO 8601 UTC. */
  expiresAt: string;
}
