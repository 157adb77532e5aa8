/**
 * Record operations: a create, update, upsert or delete of a record as a value. The process that has the connection makes the operation of a request and
 * the response; the process that writes runs the operation.
 */
import { parseJsonText } from "@socle/protocol/cells";
import type { Principal } from "../../base/kernel/index.ts";
import type { Records } from "../../data/records/index.ts";

/** The operation of a request whose checks without the record have passed. Plain data, which a channel carries. */
export interface RecordOperation {
  readonly kind: "create" | "update" | "upsert" | "delete";
  readonly collection: string;
  /** "" for a create and an upsert. */
  readonly id: string;
  /** The unique field of an upsert; "" for another kind. */
  readonly by: string;
  /** See `RecordVersion`. */
  readonly ifMatch: string | null;
  /** Empty for a delete. A channel carries the JSON as the client sent the JSON: JSON written anew has null for a number that is not finite. */
  readonly body: Readonly<Record<string, unknown>> | string;
  readonly principal: Principal;
}

/** The operation of a request of another process, with `IncomingRequest.callerKey`. */
export interface PassedOperation extends RecordOperation {
  readonly caller: string;
}

/** A record that was created or updated. */
export interface WrittenRecord {
  readonly status: 200 | 201;
  /** The JSON of the record, or of the caller's part of the record. */
  readonly json: string;
  /** The `ETag`. */
  readonly tag: string;
}

/** Answers null for a delete. `callerOf`: see `LongWrite`. @throws AppError as `Records`. */
export type RunOperation = (operation: RecordOperation, callerOf: () => string) => Promise<WrittenRecord | null>;

/** Runs an operation in this process. */
export async function runOperation(
  records: Records,
  { kind, collection, id, by, ifMatch, body: given, principal }: RecordOperation,
  callerOf: () => string,
): Promise<WrittenRecord | null> {
  if (kind === "delete") {
    await records.delete(collection, principal, { id, ifMatch, callerOf });
    return null;
  }
  // The process that made the operation has refused a text that is no JSON object.
  const body = typeof given === "string" ? (parseJsonText(given) as Record<string, unknown>) : given;
  if (kind === "upsert") {
    const saved = await records.upsert(principal, { collection, by, body, ifMatch, callerOf, after: null });
    return { status: saved.isNew ? 201 : 200, json: saved.json.text, tag: saved.tag() };
  }
  const { json, tag } =
    kind === "create"
      ? await records.createWith(principal, { collection, body, callerOf, after: null })
      : await records.update(collection, principal, { record: { id, ifMatch }, body, callerOf });
  return { status: kind === "create" ? 201 : 200, json: json.text, tag: tag() };
}
