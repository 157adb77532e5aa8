import type { EventHead, EventPage, LoggedEvent } from "../events/index.ts";
import type { Listener } from "./audience.ts";
import type { Connection } from "./connection.ts";

/** What is needed of a server's end of a WebSocket; Bun's `ServerWebSocket` has it. */
export interface Socket {
  send(text: string, compress: boolean): unknown;
  subscribe(topic: string): unknown;
  unsubscribe(topic: string): unknown;
  getBufferedAmount(): number;
  close(code: number, reason: string): void;
}

/** What a connection needs of the whole: where the log stands, what is in it, who may hear it. */
export interface Feed {
  /** The place of the newest event that was sent to the topics. */
  readonly place: number;
  /** The bytes that a replay lets wait in a socket before it goes on. */
  readonly replayBuffer: number;
  /** The place of an event, or null when the log does not hold everything after it. */
  placeOf(id: string): Promise<number | null>;
  /** The events of some types after a place; null when they are not all there any more. */
  page(after: number, width: number, types: readonly string[]): Promise<EventPage | null>;
  /** The event at a place; null when it is not there any more. */
  at(place: number): Promise<LoggedEvent | null>;
  mayHear(listener: Listener, event: EventHead, collection: string | null): boolean;
  /** A socket has joined the topics of a type, or left them. */
  join(type: string, collection: string | null): void;
  leave(type: string): void;
  /** Something went wrong that is nobody's fault: it is logged, and the socket is closed to come back. */
  fail(connection: Connection, thrown: unknown): void;
}
