/** Traces: the tree of all that followed from a request, a run of a schedule, an import or an undo. */
export { Traces } from "./traces.ts";
