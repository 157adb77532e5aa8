/**
 * Record operations: a create, update or delete of a record as a value. The process that has the connection makes the operation of a request and
 * the response; the process that writes runs the operation.
 */
import type { Principal } from "../../base/kernel/index.ts";
import type { Records } from "../../data/records/index.ts";

/** The operation of a request whose checks without the record have passed. Plain data, which a channel carries. */
export interface RecordOperation {
  readonly kind: "create" | "update" | "delete";
  readonly collection: string;
  /** "" for a create. */
  readonly id: string;
  /** See `RecordVersion`. */
  readonly ifMatch: string | null;
  /** Empty for a delete. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly principal: Principal;
  /** See `IncomingRequest.callerKey`. */
  readonly caller: string;
}

/** A record that was created or updated. */
export interface WrittenRecord {
  /** The JSON of the record, or of the caller's part of the record. */
  readonly json: string;
  /** The `ETag`. */
  readonly tag: string;
}

/** Answers null for a delete. @throws AppError as `Records`. */
export type RunOperation = (operation: RecordOperation) => Promise<WrittenRecord | null>;

/** Runs an operation in this process. */
export async function runOperation(
  records: Records,
  { kind, collection, id, ifMatch, body, principal, caller }: RecordOperation,
): Promise<WrittenRecord | null> {
  if (kind === "delete") {
    await records.delete(collection, principal, { id, ifMatch, caller });
    return null;
  }
  const { json, tag } =
    kind === "create"
      ? await records.createWith(principal, { collection, body, caller, after: null })
      : await records.update(collection, principal, { record: { id, ifMatch }, body, caller });
  return { json: json.text, tag: tag() };
}
