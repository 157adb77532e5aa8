/** Jobs: schedules and queues, runs with their attempts, and the history of runs. */
export { ClockWatch } from "./clock-watch.ts";
export { nextTime } from "./job-file.ts";
export { checkJob, Jobs } from "./jobs.ts";
export type { QueueCounts } from "./queues.ts";
export { jobSchema } from "./schema.ts";
