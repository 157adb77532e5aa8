/** Stored files for admins: search, the right to download a file, and the records that use a file. */
import { type FileUse, type StoredFile, VISIBILITIES, type Visibility } from "@socle/protocol";
import { readChoice, type SignedIn } from "../../base/kernel/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import { type FileFilter, missingFile, type Storage } from "../../files/storage/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

interface Page {
  limit: number;
  offset: number;
  waiter: Waiter;
}

export class FileAdmin {
  readonly #options: { changes: AdminChanges; storage: Storage; queries: Queries };

  constructor(options: { changes: AdminChanges; storage: Storage; queries: Queries }) {
    this.#options = options;
  }

  /**
   * Newest first.
   * @param filter as the query has the filter; an empty text counts as no filter.
   * @throws AppError `bad_request` for an unknown visibility, `unavailable` when the search takes too long.
   */
  search(
    { search, visibility, userId }: { [name in keyof FileFilter]: string | null },
    page: Page,
  ): Promise<{ items: StoredFile[]; total: number }> {
    const filter = {
      search: search || null,
      visibility: visibility === null ? null : readChoice("visibility", visibility, VISIBILITIES),
      userId: userId || null,
    };
    return this.#options.storage.search(filter, page);
  }

  /** @throws AppError `not_found`. */
  get(id: string): StoredFile {
    const file = this.#options.storage.find(id);
    if (file === null) throw missingFile();
    return file;
  }

  /**
   * Sets who may download a file, in force at once.
   * @throws AppError `not_found`.
   */
  async setVisibility(id: string, visibility: Visibility, admin: SignedIn): Promise<StoredFile> {
    return this.#options.changes.transact(admin, (tx, audit) => {
      const { before, file } = this.#options.storage.setVisibility(tx, id, visibility);
      if (before.visibility !== visibility) audit({ action: "file.updated", target: id, before, after: file });
      return file;
    });
  }

  /**
   * The records of any collection that hold the file's id.
   * @throws AppError `not_found`, `unavailable` when the search takes too long.
   */
  async uses(id: string, { waiter, limit, offset }: Page): Promise<{ items: FileUse[]; total: number }> {
    this.get(id);
    const caller = { principal: waiter.principal ?? null, caller: () => waiter.caller, signal: () => waiter.signal };
    return this.#options.queries.fileUses(id, { limit, offset }, caller);
  }
}
