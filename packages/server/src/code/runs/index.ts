/** Runs: the life cycle of a handler's run, the retry policy, and the shape of the tables of unfinished runs. */
export {
  Dispatcher,
  pageSize,
  type RunPage,
  type RunSource,
  type WaitingRun,
} from "./dispatcher.ts";
export {
  type AttemptEnd,
  type HandlerRun,
  RunLifeCycle,
  type RunStore,
  type RunTask,
} from "./life-cycle.ts";
export { exponential, linear, longestBackoffMs, type Postponement, type RetryPolicy } from "./retry-policy.ts";
export { RunLog } from "./run-log.ts";
export { FailedRuns, HandlerNumbers, handlerTable, type RunHead, RunTable } from "./run-table.ts";
