/** Metadata of stored files, their visibility and their limits. */

export const VISIBILITIES = ["public", "protected"] as const;
/** The callers that may download a file: anyone, or its owner and admins (spec, "Storage endpoints"). */
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
