/** Undos: changes of records that an admin has taken back. */
import {
  about,
  arrayOf,
  boolean,
  count,
  enumOf,
  integer,
  named,
  object,
  orNull,
  string,
  type TypeOf,
} from "./shape.ts";

export const UNDO_STATUSES = ["running", "completed", "failed"] as const;
export type UndoStatus = (typeof UNDO_STATUSES)[number];

/** A change that is left as it is, or that did not come back as a whole, with the reason. */
export const undoLeft = named("UndoLeft", () =>
  object({
    collection: string,
    /** The id of the record. */
    record: string,
    /** The position of the change in the event log. */
    seq: integer,
    reason: string,
  }),
);
export type UndoLeft = TypeOf<typeof undoLeft>;

export const undoEffect = named("UndoEffect", () =>
  object({
    collection: string,
    /** Creations that are taken back: the records are deleted. */
    deleted: count,
    /** Updates that are taken back: the fields have the values before. */
    changed: count,
    /** Deletions that are taken back: the records are there again. */
    restored: count,
  }),
);
export type UndoEffect = TypeOf<typeof undoEffect>;

/** The effects of an undo before the undo (`POST /api/admin/undo?dryRun=true`). */
export const undoPreview = named("UndoPreview", () =>
  object({
    dryRun: boolean,
    /** The changes. */
    total: count,
    /** The newest changes, which were tried; of the others, the number alone is known. */
    tried: count,
    /** The effects in a sentence. */
    text: string,
    /** Of the changes that were tried. */
    effects: arrayOf(undoEffect),
    left: about(arrayOf(undoLeft), "Of the changes that were tried: those that would be left, with the reasons."),
  }),
);
export type UndoPreview = TypeOf<typeof undoPreview>;

/** The answer of `POST /api/admin/undo`. */
export const undoStarted = named("UndoStarted", () => object({ id: string }));
export type UndoStarted = TypeOf<typeof undoStarted>;

/** The progress of an undo (`GET /api/admin/undo/{id}`). */
export const undoState = named("UndoState", () =>
  object({
    id: string,
    status: enumOf(UNDO_STATUSES),
    /** The changes that were taken back. */
    done: count,
    total: count,
    /** The number of entries of `left`, also beyond the first thousand. */
    leftCount: count,
    left: arrayOf(undoLeft),
    /** Why the undo has failed; what was done before stays done. */
    error: orNull(string),
  }),
);
export type UndoState = TypeOf<typeof undoState>;
