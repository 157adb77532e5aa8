/** Undo: changes of records that an admin takes back, with their progress. */
export { readSelection } from "./selection.ts";
export { undoSchema } from "./undo-table.ts";
export { Undos } from "./undos.ts";
