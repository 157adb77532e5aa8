/** Hearer: a socket of a cluster that keeps the events of a subscription, and resumes at any instance after a break. */
import type { Event, ServerFrame } from "@socle/protocol";

export interface Heard {
  readonly id: string;
  readonly type: string;
  readonly record: string;
}

export interface HearerOptions {
  readonly channel: string;
  readonly filter?: string;
  readonly token?: string;
  /** The event after which everything is to be heard; without an event, the hearing begins with the first subscription. */
  readonly since?: string;
  /** The kept part of a payload; the JSON of the payload by default. */
  readonly partOf?: (payload: Event["payload"]) => string;
}

export class Hearer {
  readonly heard: Heard[] = [];
  /** Events out of order or twice, and refusals of the service. */
  readonly problems: string[] = [];
  readonly #options: HearerOptions;
  readonly #partOf: (payload: Event["payload"]) => string;
  #socket: WebSocket | null = null;

  constructor(options: HearerOptions) {
    this.#options = options;
    this.#partOf = options.partOf ?? JSON.stringify;
  }

  /** Subscribes at an instance, with the last event heard. False when the instance refuses, or breaks the connection before. */
  connect(url: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.break();
    const { channel, filter, token } = this.#options;
    const query = token === undefined ? "" : `?token=${token}`;
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime${query}`);
    this.#socket = socket;
    socket.onopen = () =>
      socket.send(
        JSON.stringify({ action: "subscribe", channel, filter, since: this.heard.at(-1)?.id ?? this.#options.since }),
      );
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket) return;
      const frame = JSON.parse(String(data)) as ServerFrame;
      if (frame.type === "event") this.#hear(frame.event);
      else if (frame.type === "subscribed") resolve(true);
      else if (frame.type !== "connected") {
        this.problems.push(String(data));
        resolve(false);
      }
    };
    socket.onclose = () => {
      if (socket === this.#socket) this.#socket = null;
      resolve(false);
    };
    return promise;
  }

  get isConnected(): boolean {
    return this.#socket !== null;
  }

  break(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #hear({ id, type, payload }: Event): void {
    const last = this.heard.at(-1)?.id ?? "";
    if (id <= last) this.problems.push(`${id} came after ${last}`);
    this.heard.push({ id, type, record: this.#partOf(payload) });
  }
}
