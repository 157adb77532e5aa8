/** The mirror of a cluster: the records of all collections as typed tables in PostgreSQL, changed with each append to the journal. */
export { Mirror, type MirrorState, mirrorStateOf } from "./mirror.ts";
