/** Imported records: many creates in one transaction, of which those that are refused are left out. */
import type { ErrorDetail } from "@socle/protocol";
import type { Transactor } from "../database/index.ts";
import { AppError, isAdmin, LoopTurns, type Principal } from "../kernel/index.ts";
import type { RecordChanges } from "./changes.ts";
import type { Body, GivenFields } from "./preparation.ts";

/** A record to import. */
export interface ImportedRecord {
  readonly body: Body;
  readonly given: GivenFields;
}

/** A record that was refused, by its place among those that were given. */
export interface Rejection {
  readonly position: number;
  readonly details: readonly ErrorDetail[];
}

/** @throws AppError `forbidden`, and what is no matter of one record; the transaction must be taken back then. */
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
      // An import goes around hooks (docs/functions.md): it brings records that were checked where they come from.
      await changes.create(tx, caller, { collection, body, given, hooks: null });
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "validation_error") throw thrown;
      rejections.push({ position, details: thrown.details ?? [] });
    }
    if (turns.isDue()) await turns.next();
  }
  return rejections;
}
