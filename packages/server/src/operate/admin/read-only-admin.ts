/** Read-only mode for admins: whether the service takes changes, and the begin and the end of the mode. */
import type { ReadOnlyMode } from "@socle/protocol";
import { type Clock, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

interface ReadOnlyOptions {
  readonly changes: AdminChanges;
  readonly clock: Pick<Clock, "now">;
  readonly database: Pick<Database, "readOnly">;
}

export class ReadOnlyAdmin {
  readonly #options: ReadOnlyOptions;

  constructor(options: ReadOnlyOptions) {
    this.#options = options;
  }

  get mode(): ReadOnlyMode {
    const { state } = this.#options.database.readOnly;
    if (state === null) return { on: false, cause: null, since: null, text: null };
    const { cause, since, text } = state;
    return { on: true, cause, since: toTimestamp(since), text };
  }

  /**
   * Switches changes off or on. The mode lasts over restarts; the mode of a disk without room stays until the disk has room.
   * @param admin null for the command line.
   */
  async set({ on }: { on: boolean }, admin: SignedIn | null): Promise<ReadOnlyMode> {
    const { changes, clock, database } = this.#options;
    const work: Parameters<typeof changes.transact<void>>[1] = (tx, audit) => {
      if (!database.readOnly.switch(tx, on ? clock.now() : null)) return;
      audit({ action: on ? "readOnly.on" : "readOnly.off", target: "service" });
    };
    await changes.transact(admin, work, { whileReadOnly: true });
    return this.mode;
  }
}
