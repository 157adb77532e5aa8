/** Saved views for admins: the named filters, sorts and columns of the lists of records, shared by all admins. */
import type { SavedView, SavedViewContent } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, type Clock, quote, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import { deleteSavedView, putSavedView, savedViews } from "../../data/collections/index.ts";
import type { Database } from "../../store/database/index.ts";
import { type AdminChanges, deletion } from "./admin-changes.ts";
import type { SchemaAdmin } from "./schema-admin.ts";

/** Characters of a name, and of the JSON of a view, at most. */
const [maxName, maxContent] = [80, 16_384];

interface SavedViewOptions {
  readonly changes: AdminChanges;
  readonly clock: Pick<Clock, "now">;
  readonly config: Config;
  readonly database: Pick<Database, "reader">;
  readonly schema: Pick<SchemaAdmin, "refuseMissing">;
}

export class SavedViewAdmin {
  readonly #options: SavedViewOptions;

  constructor(options: SavedViewOptions) {
    this.#options = options;
  }

  /** By name. @throws AppError `not_found` for the collection. */
  list(collection: string): SavedView[] {
    this.#options.schema.refuseMissing(collection);
    return savedViews(this.#options.database.reader, collection);
  }

  /**
   * Makes a view, or replaces the view of the name.
   * @throws AppError `not_found` for the collection, `bad_request` for a name or content that is too long, `conflict` beyond
   * `limits.savedViews`.
   */
  put(target: { collection: string; name: string }, content: SavedViewContent, admin: SignedIn): Promise<SavedView> {
    const { changes, clock, config, schema } = this.#options;
    const { collection, name } = target;
    if (name.trim() !== name || name === "" || name.length > maxName || /\p{Cc}/u.test(name))
      throw new AppError(
        "bad_request",
        `The name of a view is a line of 1 to ${maxName} characters, not ${quote(name)}.`,
      );
    if (JSON.stringify(content).length > maxContent)
      throw new AppError("bad_request", `A view has at most ${maxContent} characters as JSON.`);
    const most = config["limits.savedViews"];
    return changes.transact(admin, (tx, audit) => {
      schema.refuseMissing(collection);
      const all = savedViews(tx, collection);
      const before = all.find((view) => view.name === name) ?? null;
      if (before === null && all.length >= most)
        throw new AppError("conflict", `There are ${most} views already (limits.savedViews); delete a view first.`, {
          limit: "savedViews",
        });
      const view = { ...content, name, updatedAt: toTimestamp(clock.now()) };
      putSavedView(tx, collection, view);
      audit({ action: "savedView.saved", target: `${collection}: ${name}`, before, after: view });
      return view;
    });
  }

  /** @throws AppError `not_found`. */
  delete({ collection, name }: { collection: string; name: string }, admin: SignedIn): Promise<void> {
    return this.#options.changes.transact(
      admin,
      (tx, audit) => {
        const before = savedViews(tx, collection).find((view) => view.name === name);
        if (before === undefined || !deleteSavedView(tx, collection, name))
          throw new AppError("not_found", `There is no view ${quote(name)} of "${collection}".`);
        audit({ action: "savedView.deleted", target: `${collection}: ${name}`, before });
      },
      deletion,
    );
  }
}
