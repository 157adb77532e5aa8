/** Realtime frames: parses those of a client, and writes those of the service. */
import type { ClientFrame, RealtimeErrorCode, ServerFrame } from "@socle/protocol";
import { isObject, quote } from "../kernel/index.ts";

/** A frame that cannot be followed: it is answered, and the socket stays open. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: RealtimeErrorCode;
  readonly channel: string | null;

  constructor(code: RealtimeErrorCode, message: string, channel: string | null = null) {
    super(message);
    this.code = code;
    this.channel = channel;
  }
}

const actions = '"subscribe", "unsubscribe" or "ping"';
/** No channel has a name that is longer; a longer one is not sent back. */
const longestChannel = 100;

/** A value of a frame as an error message shows it. The text of a large one is not made. */
function shown(value: unknown): string {
  if (typeof value === "string") return quote(value.slice(0, longestChannel));
  if (Array.isArray(value)) return "an array";
  return isObject(value) ? "an object" : quote(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Its own error: what is wrong with the text is the sender's business, and deep nesting is a RangeError.
    throw new FrameError("invalid_json", "A frame must be a JSON object.");
  }
}

/** @throws FrameError `invalid_json`, `invalid_action` or `invalid_channel`. */
export function parseFrame(text: string): ClientFrame {
  const frame = parseJson(text);
  if (!isObject(frame))
    throw new FrameError("invalid_action", `A frame must be a JSON object with "action": ${actions}.`);
  const { action, channel, since } = frame;
  if (action === "ping") return { action };
  if (action !== "subscribe" && action !== "unsubscribe")
    throw new FrameError("invalid_action", `"action" must be ${actions}, not ${shown(action)}.`);
  if (typeof channel !== "string")
    throw new FrameError("invalid_channel", `"channel" must be a string, not ${shown(channel)}.`);
  if (channel.length > longestChannel)
    throw new FrameError("invalid_channel", `${shown(channel)} is longer than any channel's name.`);
  if (action === "unsubscribe") return { action, channel };
  if (since === undefined || since === null) return { action, channel };
  if (typeof since !== "string")
    throw new FrameError(
      "invalid_action",
      `"since" must be the id of an event, a string, not ${shown(since)}.`,
      channel,
    );
  return { action, channel, since };
}

export function unknownChannel(name: string): FrameError {
  return new FrameError(
    "invalid_channel",
    `${shown(name)} is no channel. There are "{collection}.created", ".updated", ".deleted" and ".*", and those of auth, storage, function, job and "system.collection.created".`,
    name,
  );
}

/** Some of what came after `since` cannot be replayed: the log does not hold it, or it was not for this listener. */
export function gapError(channel: string, since: string): FrameError {
  const message = `The log does not hold everything since ${shown(since)} for this channel and this caller. Subscribe without "since" and read the data anew.`;
  return new FrameError("resume_gap", message, channel);
}

export function toText(frame: ServerFrame): string {
  return JSON.stringify(frame);
}

export function errorText(error: FrameError): string {
  const { code, message, channel } = error;
  return toText({ type: "error", code, message, ...(channel === null ? {} : { channel }), error: { code, message } });
}

/** An event's frame, around its text. */
export function eventText(event: string): string {
  return `{"type":"event","event":${event}}`;
}
