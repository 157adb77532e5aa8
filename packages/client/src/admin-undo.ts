/** The admin API of undos: changes of records that are taken back. */
import type { UndoPreview, UndoStarted, UndoState } from "@socle/protocol";
import type { Requests } from "./transport.ts";

/** The changes that an undo takes back: of the log by `seq`; of a request, a batch, an import, a run or an undo by the id; or of a user since a time. */
export type UndoSelection =
  | { events: number[] }
  | { request: string }
  | { batch: string }
  | { import: string }
  | { run: string }
  | { undo: string }
  | { by: string; since: string };

export class UndoAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** Answers the effects of an undo. Nothing is changed. */
  preview(selection: UndoSelection): Promise<UndoPreview> {
    return this.#transport.call("POST", "/api/admin/undo?dryRun=true", { body: selection });
  }

  /** Begins an undo, which goes on in the service. */
  start(selection: UndoSelection): Promise<UndoStarted> {
    return this.#transport.call("POST", "/api/admin/undo", { body: selection });
  }

  /** The progress of an undo, and the changes that were left. */
  get(id: string): Promise<UndoState> {
    return this.#transport.call("GET", `/api/admin/undo/${encodeURIComponent(id)}`);
  }
}
