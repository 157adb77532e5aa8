/** The event log: append inside a transaction, dispatch after the flush, reading back, retention. */
export { eventId, parseEventId } from "./event-id.ts";
export { EventLog, eventSchema, type LoggedEvent } from "./event-log.ts";
export { EventRetention } from "./retention.ts";
