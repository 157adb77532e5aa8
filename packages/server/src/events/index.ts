/** The event log: append inside a transaction, dispatch after the flush, reading back, retention. */
export { eventId, parseEventId } from "./event-id.ts";
export { type EventListener, EventLog, eventSchema, type LoggedEvent, type NewEvent } from "./event-log.ts";
export { EventRetention } from "./retention.ts";
