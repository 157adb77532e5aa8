/** Moves from other services: the neutral form of their data, the readers, the survey and report, and the move into a project. */
export { readFirebase } from "./firebase/read.ts";
export { Mover } from "./move.ts";
export { readPocketBase } from "./pocketbase/read.ts";
export { reportOf } from "./report.ts";
export type { Choices } from "./source.ts";
export { readSupabase } from "./supabase/read.ts";
export { survey } from "./survey.ts";
export { checkTarget, writeDefinitions } from "./target.ts";
