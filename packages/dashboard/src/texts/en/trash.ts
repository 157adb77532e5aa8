/** Texts of the trash of a collection. */
import { count } from "./count.ts";

export const trash = {
  open: "Trash",
  title: (name: string) => `Trash of ${name}`,
  toRecords: "Records",
  records: "Deleted records",
  record: "Record",
  deleted: "Deleted",
  until: "Gone for good",
  restore: "Restore",
  restoreNamed: (name: string) => `Restore ${name}`,
  restored: (name: string) => `${name} is restored`,
  notRestored: "The record was not restored",
  empty: "Empty the trash",
  emptyTitle: "Empty the trash?",
  emptyBody: (name: string) => `The deleted records of ${name} are gone for good, and nobody can restore the records.`,
  emptied: (n: number) => `${count(n, "record")} removed for good`,
  more: "The trash has more records. The last deleted are shown.",
  none: "The trash is empty",
  noneBody: (time: string) => `A deleted record stays here for ${time}.`,
};
