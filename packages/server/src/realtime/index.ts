/** Realtime: sockets, their subscriptions, replay from the event log, and the audience of events. */
export type { Connection } from "./connection.ts";
export { Realtime } from "./realtime.ts";
