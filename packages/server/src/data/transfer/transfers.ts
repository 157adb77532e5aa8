/** Imports and exports, for routes and commands. */
import { dirname } from "node:path";
import type { ImportReport } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { Admission, type Clock, causeOf, newId, type SignedIn, type System } from "../../base/kernel/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import type { Records } from "../records/index.ts";
import type { Export } from "./export.ts";
import type { TransferFormat } from "./format.ts";
import type { OpenFile } from "./import.ts";

export interface ImportedFile {
  readonly principal: SignedIn | System;
  readonly format: TransferFormat;
  /** The options of docs/transfer.md. */
  readonly options: URLSearchParams;
  /** The file, or a stream that can be read once. */
  readonly content: OpenFile | AsyncIterable<Uint8Array>;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
}

interface TransfersOptions {
  readonly database: Database;
  readonly records: Records;
  readonly clock: Clock;
  readonly config: Pick<Config, "database" | "limits.body" | "limits.import">;
}

export class Transfers {
  readonly #options: TransfersOptions;
  readonly #imports = new Admission({
    limit: "imports",
    message: "Other imports are running. Try again later.",
    width: 2,
    share: 1,
    maxWaiting: 8,
    waitingShare: 4,
  });

  constructor(options: TransfersOptions) {
    this.#options = options;
  }

  /** @throws AppError as `Import.run`; `bad_request` for a wrong option, `unavailable` while too many imports run. */
  async import(collection: Collection, file: ImportedFile): Promise<ImportReport> {
    const { records, clock, config } = this.#options;
    const { content, signal, format } = file;
    // An import in a request has the id of the request: the id finds all changes of the request.
    const id = causeOf(file.principal)?.id ?? newId("imp", clock.now());
    const principal = { ...file.principal, cause: { kind: "import", id } } as const;
    const { Import, readSettings, withSpooled } = await import("./importing.ts");
    const settings = readSettings(file.options, collection);
    const run = (open: OpenFile): Promise<ImportReport> =>
      new Import({ records, clock, collection, principal, format, settings, maxRow: config["limits.body"] }).run(open);
    const spool = { folder: dirname(config.database), maxBytes: config["limits.import"] };
    const work = (): Promise<ImportReport> =>
      typeof content === "function" ? run(content) : withSpooled(content, spool, run);
    return this.#imports.run(work, { caller: principal.userId ?? "system", signal });
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
