/** Imports: records that another source has checked, created in one transaction. */
import type { ErrorDetail } from "@socle/protocol";
import { AppError, LoopTurns, type Principal } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { NewRecord, RecordChanges } from "./changes.ts";
import type { WriteHooks } from "./write-hooks.ts";

export type ImportedRecord = Required<Pick<NewRecord, "body" | "given">>;

/** A refused record, by the position among the given records. */
export interface Rejection {
  readonly position: number;
  readonly details: readonly ErrorDetail[];
}

interface Import {
  readonly changes: RecordChanges;
  readonly collection: string;
  readonly records: readonly ImportedRecord[];
  /** Null if the collection has no hooks. */
  readonly hooks: WriteHooks | null;
}

/** Creates records, in the given transaction. Records that are refused, also by hooks, are left out and reported by the positions. */
export async function importIn(
  tx: Transactor,
  caller: Principal,
  { changes, collection, records, hooks }: Import,
): Promise<Rejection[]> {
  const turns = new LoopTurns();
  const rejections: Rejection[] = [];
  for (const [position, record] of records.entries()) {
    hooks?.startPart(position);
    try {
      changes.create(tx, caller, { collection, ...record, hooks });
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "validation_error") throw thrown;
      rejections.push({ position, details: thrown.details ?? [] });
    }
    if (turns.isDue()) await turns.next();
  }
  return rejections;
}
