/** Realtime: sockets, their subscriptions, replay from the event log, and who may hear what. */
export type { Connection } from "./connection.ts";
export { Realtime } from "./realtime.ts";
