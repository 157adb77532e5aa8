/** Interfaces between the parts of realtime: the socket, the connection, and the feed of events. */
import type { EventHead, EventPage } from "../events/index.ts";
import type { Listener } from "./audience.ts";
import type { ChannelTable } from "./channel-table.ts";
import type { Filter } from "./filter.ts";
import type { FilterTable } from "./filter-table.ts";
import type { Inboxes } from "./inbox.ts";
import type { TypeSubscription } from "./type-subscription.ts";
import type { Replayed as ReplayedEvent } from "./visibility.ts";

/** The server's end of a WebSocket, as far as it is used here; Bun's `ServerWebSocket` has it. */
export interface Socket {
  send(text: string, compress: boolean): unknown;
  subscribe(topic: string): unknown;
  unsubscribe(topic: string): unknown;
  isSubscribed(topic: string): boolean;
  getBufferedAmount(): number;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** A socket, as the guard of all sockets' buffers sees it. */
export interface Buffered {
  /** Whether much waited in it when it was looked at last. */
  isSlow: boolean;
  /** Bytes that wait to be sent. */
  waiting(): number;
  hasJoined(topic: string): boolean;
  /** Sends a text that is counted already. */
  sendNow(text: string): void;
  /** Ends the socket at once, and drops its waiting bytes. */
  cutOff(): void;
}

/** A socket with the caller behind it. */
export interface ListeningSocket {
  readonly listener: Listener;
  isLive(type: string): boolean;
  send(text: string): void;
}

/**
 * The feed of events, as a connection sees it: the position of the log, its events, and the permission to hear them.
 */
export interface Feed {
  /** The seq of the newest event that was sent to the topics. */
  readonly seq: number;
  /** The bytes that a replay lets wait in a socket before it goes on. */
  readonly replayBuffer: number;
  /** The channels that all sockets hold. */
  readonly channels: ChannelTable;
  /** The filters of all subscriptions. */
  readonly filters: FilterTable;
  /** Frames that wait in all sockets. */
  readonly inboxes: Inboxes;
  /** The seq of an event id, or null when the log does not hold everything after it. */
  seqOf(id: string): Promise<number | null>;
  /** The events of some types after a seq; null when they are not all there any more. */
  page(after: number, width: number, types: readonly string[]): Promise<EventPage | null>;
  mayHear(listener: Listener, event: EventHead, collection: string | null): boolean;
  /** Whether some of the events after a seq were not for this listener when they were written, and would be now. */
  isClosedAfter(seq: number, listener: Listener, collection: string | null): boolean;
  /** An event as a replay tells it to a listener, who may hear it, or hears it through a filter. */
  replayed(event: EventHead, listener: Listener, through: ReplayedThrough): Promise<ReplayedEvent>;
  /** Whether there is a collection of this name, or the name is null: else nobody writes events of it. */
  exists(collection: string | null): boolean;
  /** A socket is closed because its frames come too fast. */
  flooded(address: string): void;
  /** A socket was sent some bytes by itself. */
  sent(bytes: number): void;
  /** Called before a socket changes its topics: it gets at once its share of the event that is being sent. */
  catchUp(socket: Buffered): void;
  /** A socket is about to end: it gets nothing more. */
  ending(socket: Buffered): void;
  /** A socket begins or ends its replays. */
  replaying(change: 1 | -1): void;
  /** A socket has joined the topics of a type, or left them. */
  join(type: string, collection: string | null): void;
  leave(type: string): void;
  /** A socket's listener has come or gone. */
  listens(socket: ListeningSocket, isHere: boolean): void;
  /** Logs a failure that no client caused. */
  report(thrown: unknown): void;
}

/** The collection of a replay, and the filter of its subscription; null for none. */
export interface ReplayedThrough {
  readonly collection: string | null;
  readonly filter: Filter | null;
}

/** A replay's view of the connection, or of the subscription with a filter, that it is for. */
export interface Replayed {
  readonly listener: Listener;
  /** The id that its events carry; null for none. */
  readonly id: string | null;
  readonly filter: Filter | null;
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
