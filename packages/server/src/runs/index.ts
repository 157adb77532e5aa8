/** Runs: the life cycle of every handler's run, its retry policy, and the table shape of runs that are not over. */
export { CoalescedTask } from "./coalesced-task.ts";
export { FailedRuns } from "./failed-run-table.ts";
export { type HandlerName, HandlerNumbers, handlerNumber, handlerTable } from "./handler-table.ts";
export { type AttemptEnd, type Run, RunLifeCycle, type RunStore, type RunTask } from "./life-cycle.ts";
export { exponential, linear, longestBackoffMs, type Postponement, type RetryPolicy } from "./retry-policy.ts";
export { RunLog } from "./run-log.ts";
export { type RunHead, RunTable } from "./run-table.ts";
