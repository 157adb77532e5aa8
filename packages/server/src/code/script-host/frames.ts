/**
 * Frames between the service and a script process: the messages of a turn of the event loop go as one text, in order. A message
 * with bytes, or with values of the user's code, goes alone: the channel of the runtime can carry the message, at a higher price.
 */
import { SpawnedProcess, type SpawnOptions } from "./host-process.ts";
import type { FromChild, ToChild } from "./protocol.ts";

type Message = FromChild | ToChild;
/** The content of the channel: the JSON of an array of messages, or a message. */
export type Frame = string | Message;

/** Messages that many calls share already, or that must leave before the user's code computes. */
const atOnce: ReadonlySet<Message["type"]> = new Set(["invoke", "answers", "started"]);

export class FrameSender {
  readonly #send: (frame: Frame) => void;
  readonly #waiting: Message[] = [];

  /** @param send must not throw. */
  constructor(send: (frame: Frame) => void) {
    this.#send = send;
  }

  send(message: Message): void {
    if (isText(message)) {
      this.#waiting.push(message);
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
  return typeof frame === "string" ? (JSON.parse(frame) as M[]) : [frame as M];
}

/** The service's end of a script process. */
export class FramedProcess extends SpawnedProcess<Frame, Frame> {
  readonly #frames = new FrameSender((frame) => super.send(frame));

  constructor(options: SpawnOptions, onMessage: (message: FromChild) => void) {
    super(options, (frame) => {
      for (const message of messagesOf<FromChild>(frame)) onMessage(message);
    });
  }

  override send(message: ToChild): void {
    this.#frames.send(message);
  }
}

/** Whether JSON carries all of a message. */
function isText(message: Message): boolean {
  switch (message.type) {
    case "invoke":
      return message.calls.every(({ request }) => !(request?.body instanceof Uint8Array));
    case "answers":
      return message.answers.every((answer) => !("response" in answer && answer.response.body instanceof Uint8Array));
    case "call":
      return !message.args.some((arg) => arg instanceof Uint8Array);
    case "answer":
    case "part":
      return !(message.value instanceof Uint8Array);
    case "earlier":
    case "forget":
    case "started":
    case "taken":
    case "refuse":
    case "want":
      return true;
    default:
      return false;
  }
}
