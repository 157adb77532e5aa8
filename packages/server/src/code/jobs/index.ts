/** Jobs: schedules (of backups, too) and queues, attempts of runs, and the history of runs. */
export { type JobDefinition, jobNameOf, jobOf, nextTime } from "./job-file.ts";
export { Jobs } from "./jobs.ts";
export { rehearsedRun } from "./queues.ts";
export { Schedules } from "./schedules.ts";
export { jobSchema } from "./schema.ts";
