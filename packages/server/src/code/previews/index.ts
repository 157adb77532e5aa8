/** Previews: runs of functions, jobs and queues with the present code, of which nothing stays; the answer tells what a run would do. */
export { Previews } from "./previews.ts";
