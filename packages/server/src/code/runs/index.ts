/** Runs: the machine that makes the runs of handlers, the retry policy, and the shape of the tables of unfinished runs. */
export { type Dispatcher, pageSize, type RunPage, type RunSource, type WaitingRun } from "./dispatcher.ts";
export { exponential, linear, longestBackoffMs, type Postponement, type RetryPolicy } from "./retry-policy.ts";
export {
  type HandlerRun,
  type MachineOptions,
  type Prepared,
  type RunEnd,
  type RunHistory,
  RunMachine,
  type RunTask,
  widthPerProcess,
} from "./run-machine.ts";
export {
  type HandlerName,
  handlerTable,
  type RunHead,
  type RunRow,
  RunTable,
  type StatusFilter,
  statusCondition,
} from "./run-table.ts";
