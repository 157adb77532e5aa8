/** Realtime protocol: frames, close codes, limits, and the names of channels. */
import { isReservedCollectionName, NAME_PATTERN } from "./collections.ts";
import type { ErrorDetail } from "./errors.ts";
import type { Event } from "./events.ts";
import type { RoomFrame, RoomServerFrame } from "./rooms.ts";

/** Channels that one socket may hold (spec, "Limits"). */
export const MAX_SUBSCRIPTIONS = 50;

/** The largest text frame that a client may send, in bytes. */
export const MAX_FRAME_SIZE = 64 * 1024;

/** The close code of a socket with an expired token or an ended session. */
export const TOKEN_EXPIRED_CLOSE_CODE = 4401;

/** A frame of a client, as JSON text (spec, "Realtime"). */
export type ClientFrame =
  | {
      action: "subscribe";
      channel: string;
      /** The id of the last event that was received: what came after this event is sent first. */
      since?: string | null;
      /** A condition on the records, in the language of lists: the subscription hears of the records that fulfil the filter. */
      filter?: string | null;
      query?: never;
      /** Tells a subscription with a filter from others of the channel; the events and answers carry the id. */
      id?: string | null;
    }
  | {
      action: "subscribe";
      /** Names the subscription in the frames about the query. */
      id: string;
      query: LiveQueryFrame | ServerQueryFrame;
      /** The `seq` of the last frame of the window: if the window is the same still, only the order is sent. */
      since?: number | null;
      channel?: never;
    }
  | { action: "unsubscribe"; channel: string; id?: string | null }
  | { action: "unsubscribe"; id: string; channel?: never }
  | RoomFrame
  | { action: "ping" };

/** A live query: a collection, and the parameters of a list as texts; `limit` may be a number. */
export interface LiveQueryFrame {
  collection: string;
  filter?: string;
  sort?: string;
  limit?: string | number;
  fields?: string;
  expand?: string;
  search?: string;
  snippet?: string;
  group?: string;
  aggregate?: string;
  count?: string;
}

/** A server query: a file of `queries/`, by name, and the arguments as JSON. */
export interface ServerQueryFrame {
  name: string;
  args?: { readonly [name: string]: unknown };
}

/** Characters that the JSON of the arguments of a server query may have. */
export const MAX_QUERY_ARGUMENTS = 8 * 1024;

/** Characters of the `id` of a subscription. */
export const MAX_SUBSCRIPTION_ID = 64;

/**
 * `resume_gap`: the log no longer holds everything after `since`; `filter_limit`: the service, or the caller, has as many filters as
 * allowed; `filter_too_expensive`: a filter takes too much processor time, and the subscription has ended; `query_limit`: the live
 * queries of the service, or of the caller, have as many records as allowed; `query_too_large`: the window does not fit the socket;
 * `unavailable`: the query could not be run now; `validation_error`: a server query refuses the arguments, and `details` says why;
 * `internal_error`: a server query has failed, and the log says why; `invalid_event` and `invalid_state`: the definition of the room does not list
 * the event or the field; `room_limit`: a bound of rooms is reached. The service closes the socket after `token_expired`.
 */
export const REALTIME_ERROR_CODES = [
  "invalid_json",
  "invalid_action",
  "invalid_channel",
  "subscription_limit",
  "invalid_filter",
  "filter_limit",
  "filter_too_expensive",
  "resume_gap",
  "invalid_query",
  "forbidden",
  "invalid_room",
  "invalid_event",
  "invalid_state",
  "room_limit",
  "query_limit",
  "query_too_large",
  "unavailable",
  "validation_error",
  "internal_error",
  "token_expired",
] as const;
export type RealtimeErrorCode = (typeof REALTIME_ERROR_CODES)[number];

/** A frame of the service, as JSON text. A client ignores a frame of a type that the client does not know. */
export type ServerFrame =
  /** The first frame. The id is a name for this socket, and no right. */
  | { type: "connected"; clientId: string }
  | { type: "event"; event: Event; id?: string }
  | { type: "subscribed" | "unsubscribed"; channel?: string; id?: string }
  | LiveResult
  | LiveChange
  | LiveValue
  | RoomServerFrame
  | { type: "position"; seq: number }
  | { type: "pong" }
  | {
      type: "error";
      code: RealtimeErrorCode;
      message: string;
      channel?: string;
      /** The id of the subscription. */
      id?: string;
      /** The name and the key of the room. */
      room?: string;
      key?: string;
      /** Of `invalid_filter`: where in the filter, from 1. */
      position?: number;
      /** Of `validation_error`. */
      details?: readonly ErrorDetail[];
      error: { code: RealtimeErrorCode; message: string };
    };

interface LiveWindow {
  /** The subscription. */
  id: string;
  /** Each event up to this number is in the window. */
  seq: number;
  /** The cursor of the page behind the window; null for a window with everything. */
  nextCursor: string | null;
  /** The number of records, with `count`. */
  total?: number;
  /** Milliseconds between two reads of the window, if the query costs so much that the window is read less often. */
  every?: number;
}

/** The whole window of a live query. */
export interface LiveResult extends LiveWindow {
  type: "result";
  items: { [name: string]: unknown }[];
  value?: never;
}

/** The value of a server query: the first value, and each other value. */
export interface LiveValue extends Pick<LiveWindow, "id" | "seq" | "every"> {
  type: "result";
  value: unknown;
  items?: never;
}

/** A change of a window of records. */
export interface LiveChange extends LiveWindow {
  type: "change";
  /** The ids of the whole window, in order. */
  order: string[];
  /** The records that are new in the window, or have changed. */
  items: { [name: string]: unknown }[];
}

const recordChanges = ["created", "updated", "deleted"] as const;

/** The channels that are not about records (spec, "Events", realtime rule 2). */
export const SYSTEM_CHANNELS: readonly string[] = [
  "auth.login",
  "auth.logout",
  "auth.register",
  "storage.uploaded",
  "storage.deleted",
  "function.started",
  "function.completed",
  "function.failed",
  "job.started",
  "job.completed",
  "job.failed",
  "system.collection.created",
];

/** The content of a channel: the types of the events, and the collection of the events (null: not about records). */
export interface Channel {
  readonly collection: string | null;
  readonly types: readonly string[];
}

/** Parses the name of a channel; null for any other text. The collection need not exist. */
export function parseChannel(name: string): Channel | null {
  if (SYSTEM_CHANNELS.includes(name)) return { collection: null, types: [name] };
  const [collection = "", change = "", ...rest] = name.split(".", 3);
  if (rest.length > 0 || !NAME_PATTERN.test(collection) || isReservedCollectionName(collection)) return null;
  if (change === "*") return { collection, types: recordChanges.map((each) => `${collection}.${each}`) };
  return recordChanges.some((each) => each === change) ? { collection, types: [name] } : null;
}
