/** Realtime client: a single WebSocket for all subscriptions, which reconnects and resumes. */
import type { ClientFrame, Event, ServerFrame } from "@socle/protocol";
import { TOKEN_EXPIRED_CLOSE_CODE } from "@socle/protocol";
import { socketConstructor, type WebSocketConstructor, type WebSocketLike } from "./socket.ts";
import type { Tokens, Transport } from "./transport.ts";

export type Listener = (event: Event) => void;

export interface SubscribeOptions {
  /**
   * A condition on the records of the channel, in the filter language: only matching records are heard. A record
   * that begins to match comes as `.created`, a record that stops to match as `.deleted` with the id alone.
   */
  filter?: string;
  /**
   * Called when events arrive from now on and earlier ones do not: after the first subscription, and after a break that
   * was too long to replay. Data from before may be stale: read the list again.
   */
  onReset?: () => void;
  /** Called when the service refuses the channel or the filter, now or later; the subscription is not tried again. */
  onError?: (error: Error) => void;
}

interface Subscription extends SubscribeOptions {
  readonly channel: string;
  readonly through: string | null;
  readonly listener: Listener;
  /** Whether `onReset` was called. */
  isReset: boolean;
}

/** A channel as the service knows the channel: with a filter or whole. */
interface Wire {
  readonly channel: string;
  readonly through: string | null;
  /** The id by which the service tells the subscription from others of the channel; null without a filter. */
  readonly id: string | null;
  /** The last event that the wire brought. */
  since: string | null;
  /** Whether the service has confirmed that the wire is live. */
  isLive: boolean;
}

const firstDelayMs = 250;
const longestDelayMs = 15_000;
const pingEveryMs = 25_000;
const answerWithinMs = 10_000;
/** `WebSocket.OPEN`. */
const open = 1;

/** Calls a listener. An exception becomes an uncaught error and does not stop the other listeners. */
function callSafely(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

function carries(channel: string, type: string): boolean {
  return channel === type || (channel.endsWith(".*") && type.startsWith(channel.slice(0, -1)));
}

/** Whether a wire brings the events of a subscription. */
function serves(wire: Wire, { channel, through }: Subscription): boolean {
  return wire.through === through && (wire.channel === channel || carries(wire.channel, channel));
}

function keyOf(channel: string, through: string | null): string {
  return through === null ? channel : `${channel} ${through}`;
}

/**
 * A single socket for all subscriptions. The first subscription opens the socket. After a break, the client opens the socket
 * again and asks for the missed events. A channel that a wildcard carries anyway, through the same filter, is not asked
 * for: then each wire brings the events in order, and the last event is the position to resume from.
 */
export class Realtime {
  readonly #transport: Transport;
  readonly #subscriptions = new Set<Subscription>();
  /** By channel and filter. */
  readonly #wires = new Map<string, Wire>();
  #lastId = 0;
  readonly #webSocket: WebSocketConstructor | undefined;
  #socket: WebSocketLike | null = null;
  #tokens: Tokens | null = null;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #pinger: ReturnType<typeof setInterval> | undefined;
  #heardAt = 0;

  constructor(transport: Transport, webSocket: WebSocketConstructor | undefined) {
    this.#transport = transport;
    this.#webSocket = webSocket;
  }

  /** @throws Error in a runtime without a WebSocket. */
  subscribe(channel: string, listener: Listener, options: SubscribeOptions): () => void {
    socketConstructor(this.#webSocket);
    const through = options.filter === undefined || options.filter.trim() === "" ? null : options.filter;
    const subscription: Subscription = { ...options, channel, through, listener, isReset: false };
    this.#subscriptions.add(subscription);
    if (this.#socket === null && this.#retry === undefined) this.#connect();
    else this.#update();
    return () => {
      if (!this.#subscriptions.delete(subscription)) return;
      if (this.#subscriptions.size === 0) this.close();
      else this.#update();
    };
  }

  /** With other tokens, the listener and the events that the listener may hear have changed. */
  reconnect(): void {
    if (this.#subscriptions.size === 0) return;
    this.#wires.clear();
    for (const subscription of this.#subscriptions) subscription.isReset = false;
    this.#disconnect();
    this.#connect();
  }

  close(): void {
    this.#subscriptions.clear();
    this.#wires.clear();
    this.#disconnect();
  }

  #disconnect(): void {
    clearTimeout(this.#retry);
    clearInterval(this.#pinger);
    this.#retry = undefined;
    for (const wire of this.#wires.values()) wire.isLive = false;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #connect(): void {
    this.#retry = undefined;
    this.#tokens = this.#transport.tokens;
    const url = new URL(`${this.#transport.baseUrl}/api/realtime`);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const { bearer } = this.#transport;
    if (bearer !== null) url.searchParams.set("token", bearer);
    const socket = new (socketConstructor(this.#webSocket))(url.href);
    this.#socket = socket;
    let wasOpen = false;
    socket.addEventListener("open", () => {
      if (socket !== this.#socket) return;
      wasOpen = true;
      this.#heardAt = Date.now();
      this.#pinger = setInterval(() => this.#ping(), pingEveryMs);
      for (const wire of this.#wires.values()) this.#ask(wire);
      this.#update();
    });
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#receive(JSON.parse(String(data)) as ServerFrame);
    });
    socket.addEventListener("close", ({ code }) => {
      if (socket === this.#socket) this.#lost(!wasOpen || code === TOKEN_EXPIRED_CLOSE_CODE);
    });
    // "close" follows. `ws` ends the program when "error" has no listener.
    socket.addEventListener("error", () => undefined);
  }

  /** A socket that could not be opened may have had an old token: the browser does not say. */
  #lost(mayBeToken: boolean): void {
    this.#disconnect();
    const used = this.#tokens;
    // Without new tokens, the socket is opened anonymously; while the service is away, with the old tokens.
    const renewed =
      mayBeToken && used !== null ? this.#transport.refresh(used).catch(() => false) : Promise.resolve(true);
    const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#failures) * (0.5 + Math.random());
    this.#failures += 1;
    this.#retry = setTimeout(async () => {
      await renewed;
      this.#retry = undefined;
      if (this.#socket === null && this.#subscriptions.size > 0) this.#connect();
    }, delay);
  }

  #ping(): void {
    if (Date.now() - this.#heardAt > pingEveryMs + answerWithinMs) this.#lost(false);
    else this.#send({ action: "ping" });
  }

  /** Asks for the channels that are wanted now and gives up the others. */
  #update(): void {
    const asked = new Map([...this.#subscriptions].map((each) => [keyOf(each.channel, each.through), each]));
    const wanted = new Map(
      [...asked].filter(
        ([, { channel, through }]) =>
          channel.endsWith(".*") || !asked.has(keyOf(channel.replace(/[^.]*$/, "*"), through)),
      ),
    );
    for (const [key, { channel, through }] of wanted) if (!this.#wires.has(key)) this.#open(channel, through);
    for (const [key, { id, channel }] of this.#wires) {
      if (wanted.has(key)) continue;
      this.#wires.delete(key);
      this.#send({ action: "unsubscribe", channel, ...(id !== null && { id }) });
    }
    // A new listener of a live channel hears the channel from now on.
    queueMicrotask(() => {
      for (const wire of this.#wires.values()) if (wire.isLive) this.#reset(wire);
    });
  }

  #open(channel: string, through: string | null): void {
    this.#lastId += 1;
    const wire: Wire = {
      channel,
      through,
      id: through === null ? null : `f${this.#lastId}`,
      since: null,
      isLive: false,
    };
    this.#wires.set(keyOf(channel, through), wire);
    this.#ask(wire);
  }

  /** Without an event to resume from, the events in between are lost: the channel is subscribed to anew. */
  #ask(wire: Wire): void {
    const { channel, through, id, since } = wire;
    if (since === null)
      for (const subscription of this.#subscriptions) if (serves(wire, subscription)) subscription.isReset = false;
    const filtered = id === null || through === null ? {} : { id, filter: through };
    this.#send({ action: "subscribe", channel, ...(since === null ? {} : { since }), ...filtered });
  }

  #send(frame: ClientFrame): void {
    if (this.#socket?.readyState === open) this.#socket.send(JSON.stringify(frame));
  }

  #receive(frame: ServerFrame): void {
    this.#heardAt = Date.now();
    if (frame.type === "event") this.#deliver(frame.event, frame.id ?? null);
    else if (frame.type === "subscribed" && frame.channel !== undefined)
      this.#subscribed(frame.channel, frame.id ?? null);
    else if (frame.type === "error") this.#refused(frame);
  }

  #subscribed(channel: string, id: string | null): void {
    this.#failures = 0;
    const wire = this.#wireOf(channel, id);
    if (wire === undefined) return;
    wire.isLive = true;
    this.#reset(wire);
  }

  #wireOf(channel: string, id: string | null): Wire | undefined {
    return [...this.#wires.values()].find((wire) => wire.channel === channel && wire.id === id);
  }

  #deliver(event: Event, id: string | null): void {
    // An event without an id is for all wires without a filter. An event of a wire that was given up is for no wire.
    const wires = [...this.#wires.values()].filter((wire) => wire.id === id && carries(wire.channel, event.type));
    for (const wire of wires) wire.since = event.id;
    for (const subscription of [...this.#subscriptions])
      if (carries(subscription.channel, event.type) && wires.some((wire) => serves(wire, subscription)))
        callSafely(() => subscription.listener(event));
  }

  /** The subscriptions of a wire that have not been told yet that they are live. */
  #reset(wire: Wire): void {
    for (const subscription of [...this.#subscriptions]) {
      if (subscription.isReset || !serves(wire, subscription)) continue;
      subscription.isReset = true;
      callSafely(() => subscription.onReset?.());
    }
  }

  #refused({ code, message, channel, id }: ServerFrame & { type: "error" }): void {
    const wire = channel === undefined ? undefined : this.#wireOf(channel, id ?? null);
    if (wire === undefined) return;
    if (code === "resume_gap") {
      this.#open(wire.channel, wire.through);
      return;
    }
    this.#wires.delete(keyOf(wire.channel, wire.through));
    for (const subscription of [...this.#subscriptions]) {
      if (!serves(wire, subscription)) continue;
      this.#subscriptions.delete(subscription);
      callSafely(() => subscription.onError?.(new Error(`${code}: ${message}`)));
    }
    if (this.#subscriptions.size === 0) this.close();
  }
}
