/** Failures: the groups of failures with one cause, over all kinds of work, and the retries of groups. */
export type { Failure } from "./cause.ts";
export {
  type FailureRow,
  findGroup,
  findRetry,
  groupIdOf,
  groupOld,
  isUngrouped,
  listGroups,
  openRetries,
  putRetry,
  type RetryRow,
  setStatus,
} from "./failure-table.ts";
export { Failures } from "./failures.ts";
export { failureSchema } from "./schema.ts";
