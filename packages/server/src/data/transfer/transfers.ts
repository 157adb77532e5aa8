/** Imports and exports, for routes. */
import type { ImportReport } from "@socle/protocol";
import { Admission, type Clock, type SignedIn, type System } from "../../base/kernel/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import type { Records } from "../records/index.ts";
import type { Export } from "./export.ts";
import type { TransferFormat } from "./format.ts";

export interface ImportedFile {
  readonly principal: SignedIn | System;
  readonly format: TransferFormat;
  /** Bytes of a row. */
  readonly maxRow: number;
  readonly content: AsyncIterable<Uint8Array>;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
}

export class Transfers {
  readonly #options: { database: Database; records: Records; clock: Clock };
  readonly #imports = new Admission({
    limit: "imports",
    message: "Other imports are running. Try again later.",
    width: 2,
    share: 1,
    maxWaiting: 8,
    waitingShare: 4,
  });

  constructor(options: { database: Database; records: Records; clock: Clock }) {
    this.#options = options;
  }

  /** @throws AppError as `Import.run`; `unavailable` while too many imports run. */
  import(collection: Collection, { content, signal, ...file }: ImportedFile): Promise<ImportReport> {
    const { records, clock } = this.#options;
    const run = async (): Promise<ImportReport> => {
      const { Import } = await import("./import.ts");
      return new Import({ records, clock, collection, ...file }).run(content);
    };
    return this.#imports.run(run, { caller: file.principal.userId ?? "system", signal });
  }

  /**
   * @param mayGoOn throws once the caller's right has ended; asked before each piece.
   * @throws AppError `not_found`.
   */
  async export(name: string, format: TransferFormat, mayGoOn: () => Promise<unknown>): Promise<Export> {
    const { Export } = await import("./export.ts");
    // The definition of the moment in which the reading begins.
    const { database, records } = this.#options;
    return new Export(database, { collection: records.collection(name), format, mayGoOn });
  }
}
