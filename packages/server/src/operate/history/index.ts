/** Histories: the changes of a record in the event log, as far as a caller may read the record before and after. */
export { changesIn } from "./changes.ts";
export { Histories } from "./histories.ts";
