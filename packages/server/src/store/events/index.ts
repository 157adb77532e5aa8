/** The event log: append in a transaction, dispatch after the flush, reads, retention. */
export { causeIn, causeText, traceIn } from "./cause-text.ts";
export { type AppendedEvent, EventLog, type EventPage, type EventRecorder } from "./event-log.ts";
export {
  changesSince,
  type EventBasis,
  type EventHead,
  type EventRow,
  eventId,
  eventQueryTable,
  eventSchema,
  type LiveEvent,
  LoggedEvent,
  lastSeqOf,
  liveEventOf,
  newestEvent,
  parseEventId,
  recordsAfter,
  stampsAt,
} from "./event-table.ts";
export { RequestLog } from "./request-log.ts";
export type { LoggedRequest } from "./request-table.ts";
export { EventRetention } from "./retention.ts";
export { type AuditRange, auditAfter } from "./sql/audit.ts";
export type { EventFilter } from "./sql/search.ts";
export {
  callerSpanOf,
  firstCausesOf,
  isSampled,
  linkIn,
  spanIdOf,
  type TraceOf,
  traceIdOf,
  traceparentOf,
} from "./trace-context.ts";
