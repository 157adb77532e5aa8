/** Shown files: the files that a caller may read because a record shows the file, in the view of a transaction. */
import type { Principal } from "../../base/kernel/index.ts";
import type { Reader } from "../../store/database/index.ts";
import type { Collections } from "../collections/index.ts";
import { callerOf } from "../permissions/index.ts";
import type { ReadableFileColumn } from "./plan.ts";
import { ReadScope } from "./read-scope.ts";
import { isShownIn, readableFileColumns } from "./sql/file-uses.ts";

export class ShownFiles {
  readonly #collections: Collections;
  /** The columns of files that the last caller may read: a record may name hundreds of files. */
  #last: { principal: Principal; epoch: number; columns: ReadableFileColumn[] } | null = null;

  constructor(collections: Collections) {
    this.#collections = collections;
  }

  /** Like `Queries.isShownByRecord`; checks the newest records of each collection that point to the file. */
  isShown(reader: Reader, fileId: string, principal: Principal): boolean {
    const { epoch } = this.#collections;
    if (this.#last?.principal !== principal || this.#last.epoch !== epoch) {
      const scope = new ReadScope(this.#collections, principal);
      this.#last = { principal, epoch, columns: readableFileColumns(this.#collections, scope, { isProbed: false }) };
    }
    const { columns } = this.#last;
    return isShownIn(reader, { now: Date.now(), user: callerOf(principal) }, { columns, fileId });
  }
}
