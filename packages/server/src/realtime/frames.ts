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
    throw new FrameError("invalid_action", `"action" must be ${actions}, not ${quote(action)}.`);
  if (typeof channel !== "string")
    throw new FrameError("invalid_channel", `"channel" must be a string, not ${quote(channel)}.`);
  if (channel.length > longestChannel)
    throw new FrameError("invalid_channel", `${quote(channel)} is longer than any channel's name.`);
  if (action === "unsubscribe") return { action, channel };
  if (since === undefined || since === null) return { action, channel };
  if (typeof since !== "string")
    throw new FrameError(
      "invalid_action",
      `"since" must be the id of an event, a string, not ${quote(since)}.`,
      channel,
    );
  return { action, channel, since };
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
