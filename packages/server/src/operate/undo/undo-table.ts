/** Table of undos: what was asked for, the position in the log, and the changes that were left. */
import type { UndoLeft, UndoStatus } from "@socle/protocol";
import type { ModuleSchema, Reader, Transactor } from "../../store/database/index.ts";

export const undoSchema: ModuleSchema = {
  module: "undo",
  steps: [
    // `selection`: JSON of `UndoSelection`. `before`: the changes before this seq of the log are not looked at yet. `lost`: JSON of `UndoLeft[]`.
    `CREATE TABLE _undos (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      actor TEXT,
      selection TEXT NOT NULL,
      status TEXT NOT NULL,
      before INTEGER NOT NULL,
      done INTEGER NOT NULL,
      total INTEGER NOT NULL,
      leftCount INTEGER NOT NULL,
      lost TEXT NOT NULL,
      error TEXT
    ) STRICT`,
    "CREATE INDEX _undos_running ON _undos (seq) WHERE status = 'running'",
  ],
};

/** The undos that the table keeps; older undos that are over go first. */
const kept = 1_000;

export interface UndoRow {
  readonly id: string;
  /** The admin. */
  readonly actor: string | null;
  /** JSON of `UndoSelection`. */
  readonly selection: string;
  readonly status: UndoStatus;
  readonly before: number;
  /** The changes that were taken back. */
  readonly done: number;
  readonly total: number;
  readonly leftCount: number;
  /** JSON of `UndoLeft[]`. */
  readonly lost: string;
  readonly error: string | null;
}

const columns = "id, actor, selection, status, before, done, total, leftCount, lost, error";

export function putUndo(tx: Transactor, row: Pick<UndoRow, "id" | "actor" | "selection" | "before" | "total">): void {
  tx.run(
    `INSERT INTO _undos (${columns}) VALUES (?, ?, ?, 'running', ?, 0, ?, 0, '[]', NULL)`,
    row.id,
    row.actor,
    row.selection,
    row.before,
    row.total,
  );
  tx.run(`DELETE FROM _undos WHERE status != 'running' AND seq <= (SELECT max(seq) FROM _undos) - ${kept}`);
}

export function undoOf(reader: Reader, id: string): UndoRow | null {
  return reader.get<UndoRow>(`SELECT ${columns} FROM _undos WHERE id = ?`, id);
}

/** The undo that is to go on: the oldest. */
export function runningUndo(reader: Reader): UndoRow | null {
  return reader.get<UndoRow>(`SELECT ${columns} FROM _undos WHERE status = 'running' ORDER BY seq LIMIT 1`);
}

/** Saves the state of an undo. @param state `lost`: the changes that are told. */
export function saveUndo(
  tx: Transactor,
  { id, status, before, done, leftCount, error }: Omit<UndoRow, "lost" | "actor" | "selection" | "total">,
  lost: readonly UndoLeft[],
): void {
  const sql = "UPDATE _undos SET status = ?, before = ?, done = ?, leftCount = ?, lost = ?, error = ? WHERE id = ?";
  tx.run(sql, status, before, done, leftCount, JSON.stringify(lost), error, id);
}
