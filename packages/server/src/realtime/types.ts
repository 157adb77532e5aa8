import type { EventHead, EventPage, LoggedEvent } from "../events/index.ts";
import type { Listener } from "./audience.ts";
import type { TypeSubscription } from "./type-subscription.ts";

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
  /** Logs what went wrong and is nobody's fault. */
  report(thrown: unknown): void;
}

/** What a replay needs of the connection that it is for. */
export interface Replayed {
  readonly listener: Listener;
  send(text: string): void;
  /** Resolves when less than `bytes` wait to be sent, or when the socket is gone. */
  drainedBelow(bytes: number): Promise<void>;
  /** Whether the socket still holds just this subscription. */
  holds(subscription: TypeSubscription): boolean;
  /** The socket hears the type from the next event on. */
  goLive(subscription: TypeSubscription): void;
  /** The socket hears nothing more of the type, until a replay has brought what comes. */
  pause(subscription: TypeSubscription): void;
  /** The names of the socket's channels that carry one of these types. */
  channelsOf(types: readonly string[]): string[];
  /** Takes a channel out again, without an answer. */
  drop(channel: string): void;
  fail(thrown: unknown): void;
}
