/** Jobs: schedules and queues, runs with their attempts, and the history of both. */
export { checkJob, Jobs } from "./jobs.ts";
export type { QueueCounts } from "./queues.ts";
export { nextTime } from "./schedule.ts";
export { jobSchema } from "./schema.ts";
