/** Realtime: sockets, their subscriptions, replay from the event log, and the audience of events. */
export type { SocketConnection } from "./connection.ts";
export {
  anything,
  type LiveDependencies,
  type LiveValueRun,
  type NamedQueries,
  type NamedSource,
} from "./live-sources.ts";
export { Realtime, type RealtimeOptions } from "./realtime.ts";
export type { SocketPart, SocketQuery } from "./socket-list.ts";
