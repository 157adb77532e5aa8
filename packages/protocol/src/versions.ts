/** Versions of records, which `ETag`, `If-Match` and `ifMatch` are made of. */
/** Versions of records on the wire: the entity tag that answers carry and `If-Match` names. */
import type { SystemFields } from "./collections.ts";

/**
 * The version of a record in `If-Match` and `ifMatch`: the id and the time of the last change, in quotes. The `ETag` of
 * an answer has the version before a `;`, and after the `;` a hash of the rest that the answer depends on.
 */
export function versionOf({ id, updatedAt }: Pick<SystemFields, "id" | "updatedAt">): string {
  return `"${id}@${updatedAt}"`;
}
