/** Texts of histories and undos. */
import type { UndoEffect } from "@socle/protocol";
import { count } from "./count.ts";

export const undo = {
  undone: (change: string) => `Undone: ${change}`,
  partly: (change: string) => `Not all was undone: ${change}`,
  notUndone: (change: string) => `Not undone: ${change}`,
  nothing: "This tab has no change to undo.",
  last: "Undo the last change of this tab",
  changes: {
    cell: (field: string, collection: string) => `${field} changed in ${collection}`,
    saved: (collection: string) => `a record of ${collection} saved`,
    created: (collection: string) => `a record of ${collection} created`,
    deleted: (n: number, collection: string) => `${count(n, "record")} of ${collection} deleted`,
    editedMany: (field: string, n: number, collection: string) =>
      `${field} of ${count(n, "record")} of ${collection} changed`,
    pasted: (cells: number, collection: string) => `${count(cells, "cell")} pasted into ${collection}`,
    restored: (collection: string) => `an earlier version of a record of ${collection} restored`,
  },

  change: "Undo this change",
  ofCause: {
    request: "Undo the request",
    import: "Undo the import",
    function: "Undo the run",
    job: "Undo the run",
    migration: "Undo the migration",
    undo: "Take the undo back",
  },
  import: "Undo this import",
  run: "Undo this run",
  deletion: "Restore the record",
  user: {
    title: "Changes by this user",
    hint: "Takes back what this user has changed in records since a time.",
    since: "Since",
    action: "Undo the changes since then",
  },

  looking: "The changes are looked at",
  effects: ({ collection, deleted, changed, restored }: UndoEffect) =>
    [
      ...(deleted > 0 ? [`${count(deleted, "created record")} of ${collection} will be deleted`] : []),
      ...(changed > 0 ? [`${count(changed, "change")} in ${collection} will be taken back`] : []),
      ...(restored > 0 ? [`${count(restored, "deleted record")} of ${collection} will come back`] : []),
    ].join(", "),
  noEffect: "Nothing would change.",
  tried: (tried: number, total: number) =>
    `Of ${count(total, "change")}, the newest ${tried.toLocaleString()} were tried. The others are taken back, too.`,
  note: "Functions and hooks do not run, and mails stay sent.",
  left: (n: number) =>
    `${count(n, "change")} that ${n === 1 ? "stays" : "stay"}, or ${n === 1 ? "comes" : "come"} back in part`,
  moreLeft: (n: number) => `and ${n.toLocaleString()} more`,
  start: (n: number) => `Undo ${count(n, "change")}`,
  progress: "Progress of the undo",
  doing: (done: number, total: number) => `${done.toLocaleString()} of ${count(total, "change")} looked at`,
  goesOn: "The undo goes on when this dialog is closed.",
  done: (n: number) => `${count(n, "change")} taken back.`,
  failed: "The undo has failed. The changes that were taken back before stay so:",
  again: "Take the undo back",
};

export const history = {
  title: "History",
  none: "The log has no change of this record.",
  older: "Show older changes",
  all: "To the beginning of the record.",
  logEnd: "The log keeps no older change.",
  kinds: { created: "created", updated: "updated", deleted: "deleted" },
  nobody: "by an anonymous caller",
  by: "by",
  causes: {
    request: "in the request",
    function: "in a run of",
    job: "in a run of",
    import: "in the import",
    migration: "in the migration",
    undo: "in the undo",
  },
  cause: "Cause",
  erased: "The values of this change were erased.",
  partial: "The log does not have all values before.",
  noFieldChanged: "No field changed.",
  gone: (files: number) => `${count(files, "file")} of this change ${files === 1 ? "does" : "do"} not exist any more.`,

  restore: "Restore this version",
  restoreTitle: "Restore this version?",
  restoreBody: (time: string) =>
    `The record gets the values that it had after the change of ${time}. This would change now:`,
  same: "The record has the values of this version already.",
  restoreAction: "Restore",
  restored: "The version was restored.",
  goneFields: (names: readonly string[]) =>
    `Not restored, because the collection has no such field any more: ${names.join(", ")}.`,
  goneFiles: (names: readonly string[]) =>
    `Not restored, because the files do not exist any more: ${names.join(", ")}.`,
  unknown: (names: readonly string[]) => `Not restored, because the log does not have the values: ${names.join(", ")}.`,
  ofAccount: (names: readonly string[]) =>
    `Not restored, because the page of the user changes them: ${names.join(", ")}.`,
  erasedSince: "Values of later changes were erased: fields that these changes concerned stay as they are.",
};
