/**
 * Frames between the service and a script process: the messages of a turn of the event loop go as one text, in order; small bodies
 * of requests and responses go in base64. Any other message with bytes, or with values of the user's code, goes alone: the channel
 * of the runtime can carry the message, at a higher price.
 */

import { SpawnedProcess, type SpawnOptions } from "./host-process.ts";
import type { BodyData, FromChild, ToChild } from "./protocol.ts";
import type { StartedAttemptSlot } from "./started-attempts.ts";

type Message = FromChild | ToChild;
/** The content of the channel: the JSON of an array of messages, or a message. */
export type Frame = string | Message;

/** Messages that many calls share already, or that must leave before the user's code computes. */
const atOnce: ReadonlySet<Message["type"]> = new Set(["invoke", "answers"]);

export class FrameSender {
  readonly #send: (frame: Frame) => void;
  readonly #waiting: Message[] = [];

  /** @param send must not throw. */
  constructor(send: (frame: Frame) => void) {
    this.#send = send;
  }

  send(message: Message): void {
    if (isText(message)) {
      this.#waiting.push(withBodies(message, toText));
      if (atOnce.has(message.type)) this.#flush();
      else if (this.#waiting.length === 1) setImmediate(() => this.#flush());
      return;
    }
    this.#flush();
    this.#send(message);
  }

  #flush(): void {
    if (this.#waiting.length > 0) this.#send(JSON.stringify(this.#waiting.splice(0)));
  }
}

/** The messages of a frame. */
export function messagesOf<M extends Message>(frame: Frame): readonly M[] {
  // The other side is the same executable.
  if (typeof frame !== "string") return [frame as M];
  return (JSON.parse(frame) as M[]).map((message) => withBodies(message, fromText));
}

/** Bytes of a body that goes in base64. */
const maxText = 16 * 1024;

/** A body in base64. */
interface TextBody {
  readonly base64: string;
}

function toText(body: BodyData): BodyData | TextBody {
  return body instanceof Uint8Array ? { base64: body.toBase64() } : body;
}

function fromText(body: BodyData | TextBody): BodyData {
  return typeof body === "object" && body !== null && "base64" in body ? Uint8Array.fromBase64(body.base64) : body;
}

/** A message with other bodies of its requests or responses. Only this file sees bodies in base64. */
function withBodies<M extends Message>(message: M, change: (body: never) => BodyData | TextBody): M {
  // A body that is changed has the form of the other side.
  const changed = (body: BodyData): BodyData => change(body as never) as BodyData;
  if (message.type === "invoke") {
    if (message.calls.every(({ request }) => request === undefined || request.body === null)) return message;
    const calls = message.calls.map((call) =>
      call.request === undefined ? call : { ...call, request: { ...call.request, body: changed(call.request.body) } },
    );
    return { ...message, calls };
  }
  if (message.type !== "answers") return message;
  const answers = message.answers.map((answer) =>
    "response" in answer
      ? { ...answer, response: { ...answer.response, body: changed(answer.response.body) } }
      : answer,
  );
  return { ...message, answers };
}

function isSmall(body: BodyData | undefined): boolean {
  return !(body instanceof Uint8Array) || body.byteLength <= maxText;
}

/** The service's end of a script process. */
export class FramedProcess extends SpawnedProcess<Frame, Frame> {
  readonly #frames = new FrameSender((frame) => super.send(frame));
  readonly #place: StartedAttemptSlot;

  constructor(options: SpawnOptions, place: StartedAttemptSlot, onMessage: (message: FromChild) => void) {
    const { descriptor, offset } = place;
    super({ ...options, options: { ...options.options, begunAt: offset }, descriptor }, (frame) => {
      for (const message of messagesOf<FromChild>(frame)) onMessage(message);
    });
    this.#place = place;
  }

  /** The number of the last attempt that has begun. */
  get lastBegun(): number {
    return this.#place.number;
  }

  override send(message: ToChild): void {
    this.#frames.send(message);
  }
}

/** Whether JSON carries all of a message. */
function isText(message: Message): boolean {
  switch (message.type) {
    case "invoke":
      return message.calls.every(({ request }) => isSmall(request?.body));
    case "answers":
      return message.answers.every((answer) => !("response" in answer) || isSmall(answer.response.body));
    case "call":
      return !message.args.some((arg) => arg instanceof Uint8Array);
    case "answer":
    case "part":
      return !(message.value instanceof Uint8Array);
    case "earlier":
    case "forget":
    case "taken":
    case "refuse":
    case "want":
      return true;
    default:
      return false;
  }
}
