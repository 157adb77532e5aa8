/** Runs: the dispatcher that starts the runs of handlers, the machine that executes and retries the runs, and the tables of runs. */
export { type Dispatcher, pageSize, type RunPage, type RunSource, type WaitingRun } from "./dispatcher.ts";
export {
  exponential,
  type HandlerRun,
  linear,
  longestBackoffMs,
  type MachineOptions,
  type Prepared,
  type RetryPolicy,
  type RunEnd,
  type RunHistory,
  RunMachine,
  type RunTask,
  widthPerProcess,
} from "./run-machine.ts";
export {
  type HandlerName,
  handlerTable,
  moveRuns,
  type OpenRun,
  type Postponement,
  type RunHead,
  type RunRow,
  RunTable,
  type StatusFilter,
  statusCondition,
} from "./run-table.ts";
export { sourceTable } from "./source-table.ts";
