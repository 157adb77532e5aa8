/** Admin API of undos: says what an undo would do, begins an undo, and tells the progress. */
import type { UndoPreview, UndoStarted, UndoState } from "@socle/protocol";
import type { SignedIn } from "../../base/kernel/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import { readSelection, type Undos } from "../undo/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

export class UndoAdmin {
  readonly #options: { changes: AdminChanges; undos: Undos };

  constructor(options: { changes: AdminChanges; undos: Undos }) {
    this.#options = options;
  }

  /** The effects of an undo. @throws AppError as `readSelection` and `Undos.preview`. */
  preview(body: Record<string, unknown>, waiter: Waiter): Promise<UndoPreview> {
    return this.#options.undos.preview(readSelection(body), waiter);
  }

  /** Begins an undo, which goes on after the answer. @throws AppError as `readSelection` and `Undos.prepare`. */
  async start(body: Record<string, unknown>, waiter: Waiter & { principal: SignedIn }): Promise<UndoStarted> {
    const { changes, undos } = this.#options;
    const selection = readSelection(body);
    const { id, begin } = await undos.prepare(selection, waiter);
    await changes.transact(waiter.principal, (tx, audit) => {
      begin(tx);
      audit({ action: "undo.started", target: id, after: selection });
    });
    return { id };
  }

  /** @throws AppError `not_found`. */
  get(id: string): UndoState {
    return this.#options.undos.state(id);
  }
}
