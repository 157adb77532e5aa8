/** Imported records: many creates in one transaction, without the refused records. */
import type { ErrorDetail } from "@socle/protocol";
import { AppError, isAdmin, LoopTurns, type Principal } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { RecordChanges } from "./changes.ts";
import type { GivenFields } from "./preparation.ts";
import type { Body } from "./references.ts";

/** A record to import. */
export interface ImportedRecord {
  readonly body: Body;
  readonly given: GivenFields;
}

/** A refused record, by its position among the given records. */
export interface Rejection {
  readonly position: number;
  readonly details: readonly ErrorDetail[];
}

/** @throws AppError `forbidden`, and errors that do not belong to one record; the transaction must then be taken back. */
export async function createAll(
  tx: Transactor,
  caller: Principal,
  { collection, records, changes }: { collection: string; records: readonly ImportedRecord[]; changes: RecordChanges },
): Promise<Rejection[]> {
  if (!isAdmin(caller)) throw new AppError("forbidden", "Only admins may import records.");
  const turns = new LoopTurns();
  const rejections: Rejection[] = [];
  for (const [position, { body, given }] of records.entries()) {
    try {
      // An import goes around hooks (docs/functions.md): the records were checked by their source.
      changes.create(tx, caller, { collection, body, given, hooks: null });
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "validation_error") throw thrown;
      rejections.push({ position, details: thrown.details ?? [] });
    }
    if (turns.isDue()) await turns.next();
  }
  return rejections;
}
