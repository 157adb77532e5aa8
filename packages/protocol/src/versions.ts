/** Versions of records, which `ETag`, `If-Match` and `ifMatch` are made of. */
/** Versions of records on the wire: the entity tag that answers carry and `If-Match` names. */
import type { SystemFields } from "./collections.ts";

/**
 * The version of a record as `If-Match` and `ifMatch` name it: its id and the time of its last change, in quotes. The `ETag` of
 * an answer has this before a `;`, and behind it what else the answer depends on.
 */
export function versionOf({ id, updatedAt }: Pick<SystemFields, "id" | "updatedAt">): string {
  return `"${id}@${updatedAt}"`;
}
