/** Jobs: schedules, runs with their attempts, and the history of both. */
export { Jobs } from "./jobs.ts";
export { nextTime } from "./schedule.ts";
export { jobSchema } from "./schema.ts";
