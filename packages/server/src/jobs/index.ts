/** Jobs: schedules, runs with their attempts, and the history of both. */
export { jobSchema } from "./history.ts";
export { Jobs } from "./jobs.ts";
export { nextTime } from "./schedule.ts";
