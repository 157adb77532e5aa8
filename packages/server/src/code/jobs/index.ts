/** Jobs: schedules and queues, runs with their attempts, and the history of runs. */
export { ClockWatch } from "./clock-watch.ts";
export { jobOf, nextTime } from "./job-file.ts";
export { Jobs } from "./jobs.ts";
export { jobSchema } from "./schema.ts";
