/** Realtime frames: parses the frames of a client, and writes the frames of the service. */
import {
  type Channel,
  type ClientFrame,
  type ErrorDetail,
  MAX_QUERY_ARGUMENTS,
  MAX_ROOM_KEY,
  MAX_SUBSCRIPTION_ID,
  parseChannel,
  type RealtimeErrorCode,
  type RoomFrame,
  type ServerFrame,
  type ServerQueryFrame,
} from "@socle/protocol";
import { isObject, quote } from "../../base/kernel/index.ts";

/** The subject of a frame error: a channel, and for a filter, its subscription and the position. */
export interface FrameSubject {
  readonly channel: string | null;
  readonly id?: string | null;
  readonly room?: string;
  /** Of the room. */
  readonly key?: string;
  /** In the filter, from 1. */
  readonly position?: number | null;
  /** Of `validation_error`. */
  readonly details?: readonly ErrorDetail[] | undefined;
}

/** A frame that cannot be followed. The client is told, and the socket stays open. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: RealtimeErrorCode;
  readonly subject: FrameSubject;

  constructor(code: RealtimeErrorCode, message: string, subject: FrameSubject | string | null = null) {
    super(message);
    this.code = code;
    this.subject = typeof subject === "object" && subject !== null ? subject : { channel: subject };
  }

  /** The error of a filter or a query, with the subscription. */
  about({ name, id }: { name: string | null; id: string | null }): FrameError {
    return new FrameError(this.code, this.message, { ...this.subject, channel: name, id });
  }
}

const roomActions = ["join", "state", "send", "leave"] as const;
const actions = '"subscribe", "unsubscribe", "ping", "join", "state", "send" or "leave"';
/** The length of the longest channel name. A longer text is not sent back. */
const longestChannel = 100;

/** A value of a frame as an error message shows it. The text of a large value is not made. */
function shown(value: unknown): string {
  if (typeof value === "string") return quote(value.slice(0, longestChannel));
  if (Array.isArray(value)) return "an array";
  return isObject(value) ? "an object" : quote(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An error of its own: the parser's message may quote the text, and deep nesting is a RangeError.
    throw new FrameError("invalid_json", "A frame must be a JSON object.");
  }
}

/** @throws FrameError `invalid_json`, `invalid_action` or `invalid_channel`; of a room, as `parseRoomFrame`. */
export function parseFrame(text: string): ClientFrame {
  const frame = parseJson(text);
  if (!isObject(frame))
    throw new FrameError("invalid_action", `A frame must be a JSON object with "action": ${actions}.`);
  const { action, channel, since, filter } = frame;
  if (action === "ping") return { action };
  const roomAction = roomActions.find((each) => each === action);
  if (roomAction !== undefined) return parseRoomFrame(roomAction, frame);
  if (action !== "subscribe" && action !== "unsubscribe")
    throw new FrameError("invalid_action", `"action" must be ${actions}, not ${shown(action)}.`);
  const isLive = frame["query"] !== undefined || (action === "unsubscribe" && frame["id"] !== undefined);
  if (channel === undefined && isLive) return parseLiveFrame(action, frame);
  if (typeof channel !== "string")
    throw new FrameError("invalid_channel", `"channel" must be a string, not ${shown(channel)}.`);
  if (channel.length > longestChannel)
    throw new FrameError("invalid_channel", `${shown(channel)} is longer than any channel's name.`);
  const id = readId(frame["id"], channel);
  if (action === "unsubscribe") return { action, channel, id };
  if (since !== undefined && since !== null && typeof since !== "string")
    throw new FrameError(
      "invalid_action",
      `"since" must be the id of an event, a string, not ${shown(since)}.`,
      channel,
    );
  if (filter !== undefined && filter !== null && typeof filter !== "string")
    throw new FrameError("invalid_filter", `"filter" must be a string, not ${shown(filter)}.`, { channel, id });
  // An empty filter counts as no filter, as in a list.
  const wanted = filter === undefined || filter === null || filter.trim() === "" ? null : filter;
  if (id !== null && wanted === null)
    throw new FrameError("invalid_action", 'An "id" is for a subscription with a "filter".', { channel, id });
  return { action, channel, since: since ?? null, filter: wanted, id };
}

/** The parameters of a live query, in the words of the parameters of a list. */
const liveParameters = [
  "filter",
  "sort",
  "limit",
  "fields",
  "expand",
  "search",
  "snippet",
  "zone",
  "group",
  "aggregate",
  "count",
] as const;

/** A frame about a live query. @throws FrameError `invalid_action`, `invalid_query`. */
function parseLiveFrame(action: "subscribe" | "unsubscribe", frame: Readonly<Record<string, unknown>>): ClientFrame {
  const id = readId(frame["id"], null);
  if (id === null) throw new FrameError("invalid_action", 'A subscription without a channel needs an "id".');
  if (action === "unsubscribe") return { action, id };
  const subject = { channel: null, id };
  const { query, since = null } = frame;
  if (since !== null && !Number.isSafeInteger(since))
    throw new FrameError("invalid_action", `"since" must be the "seq" of a frame, not ${shown(since)}.`, subject);
  if (!isObject(query))
    throw new FrameError("invalid_query", `"query" must be an object, not ${shown(query)}.`, subject);
  const from = since === null ? null : Number(since);
  const { collection, ...parameters } = query;
  if (collection === undefined && query["name"] !== undefined)
    return { action, id, query: parseServerQuery(query, subject), since: from };
  if (typeof collection !== "string")
    throw new FrameError("invalid_query", `"collection" must be a string, not ${shown(collection)}.`, subject);
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) {
    const parameter = liveParameters.find((each) => each === name);
    if (parameter === undefined)
      throw new FrameError(
        "invalid_query",
        `A live query has no parameter ${shown(name)}; there are: collection, ${liveParameters.join(", ")}.`,
        subject,
      );
    if (value === null || value === undefined) continue;
    if (typeof value !== "string" && !Number.isSafeInteger(value))
      throw new FrameError("invalid_query", `"${name}" must be a string, not ${shown(value)}.`, subject);
    texts[parameter] = String(value);
  }
  return { action, id, query: { collection, ...texts }, since: from };
}

/** A frame about a room. @throws FrameError `invalid_room`, `invalid_state`, `invalid_event`. */
function parseRoomFrame(
  action: (typeof roomActions)[number],
  { room, key, state = null, event, payload = null }: Readonly<Record<string, unknown>>,
): RoomFrame {
  if (typeof room !== "string" || room.length > longestChannel)
    throw new FrameError("invalid_room", `"room" must be the name of a room, not ${shown(room)}.`);
  if (typeof key !== "string" || key === "" || key.length > MAX_ROOM_KEY)
    throw new FrameError("invalid_room", `"key" must be a string of 1 to ${MAX_ROOM_KEY} characters.`, {
      channel: null,
      room,
    });
  const subject = { channel: null, room, key };
  if (action === "leave") return { action, room, key };
  if (action === "send") {
    if (typeof event === "string") return { action, room, key, event, payload };
    throw new FrameError("invalid_event", `"event" must be a string, not ${shown(event)}.`, subject);
  }
  if (isObject(state)) return { action, room, key, state };
  if (action === "join" && state === null) return { action, room, key, state };
  throw new FrameError("invalid_state", `"state" must be an object, not ${shown(state)}.`, subject);
}

/** The server query of a frame. @throws FrameError `invalid_query`. */
function parseServerQuery(query: Readonly<Record<string, unknown>>, subject: FrameSubject): ServerQueryFrame {
  const { name, args = null, ...others } = query;
  const refuse = (message: string): never => {
    throw new FrameError("invalid_query", message, subject);
  };
  const [other] = Object.keys(others);
  if (other !== undefined) return refuse(`A server query has no ${shown(other)}; allowed: name, args.`);
  if (typeof name !== "string") return refuse(`"name" must be a string, not ${shown(name)}.`);
  if (args === null) return { name };
  if (!isObject(args)) return refuse(`"args" must be an object, not ${shown(args)}.`);
  if (JSON.stringify(args).length <= MAX_QUERY_ARGUMENTS) return { name, args };
  return refuse(`"args" must have ${MAX_QUERY_ARGUMENTS} characters of JSON at most.`);
}

function readId(id: unknown, channel: string | null): string | null {
  if (id === undefined || id === null) return null;
  if (typeof id === "string" && id !== "" && id.length <= MAX_SUBSCRIPTION_ID) return id;
  throw new FrameError(
    "invalid_action",
    `"id" must be a string of 1 to ${MAX_SUBSCRIPTION_ID} characters, not ${shown(id)}.`,
    channel,
  );
}

/** @throws FrameError `invalid_channel`. */
export function parseKnown(name: string): Channel {
  const channel = parseChannel(name);
  if (channel !== null) return channel;
  const message = `${shown(name)} is no channel. There are "{collection}.created", ".updated", ".deleted" and ".*", and those of auth, storage, function, job and "system.collection.created".`;
  throw new FrameError("invalid_channel", message, name);
}

/** Some events after `since` cannot be replayed: the log does not hold the events, or the events were closed to this listener. */
export function gapError(subject: FrameSubject, since: string): FrameError {
  const message = `The log does not hold everything since ${shown(since)} for this channel and this caller. Subscribe without "since" and read the data anew.`;
  return new FrameError("resume_gap", message, subject);
}

/** Without an id, a channel with a filter cannot stand beside another channel of the same events. */
export function overlap(name: string, other: string): FrameError {
  const message = `"${other}" is held, and carries events of "${name}". Where one of two such channels has a filter, give it an "id" of its own.`;
  return new FrameError("invalid_filter", message, { channel: name });
}

export function toText(frame: ServerFrame): string {
  return JSON.stringify(frame);
}

export function errorText(error: FrameError): string {
  const { code, message, subject } = error;
  const { channel, id = null, position = null, details, room, key } = subject;
  return toText({
    type: "error",
    code,
    message,
    ...(channel !== null && { channel }),
    ...(id !== null && { id }),
    ...(room !== undefined && { room }),
    ...(key !== undefined && { key }),
    ...(position !== null && { position }),
    ...(details !== undefined && { details }),
    error: { code, message },
  });
}

export function replyText(type: "subscribed" | "unsubscribed", channel: string | null, id: string | null): string {
  return toText({ type, ...(channel !== null && { channel }), ...(id !== null && { id }) });
}

/** An event's frame, around its text. @param id of the subscription, or null. */
export function eventText(event: string, id: string | null = null): string {
  return id === null
    ? `{"type":"event","event":${event}}`
    : `{"type":"event","id":${JSON.stringify(id)},"event":${event}}`;
}
