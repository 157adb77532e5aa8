/** Channels of events over the connection, with filters and resumption. */
import type { Event, ServerFrame } from "@socle/protocol";
import type { Connection, ConnectionPart, ReceivedFrame } from "./connection.ts";
import { callSafely } from "./observable.ts";

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
 * The channels of a connection. After a break, the client asks for the missed events. A channel that a wildcard carries anyway,
 * through the same filter, is not asked for: then each wire brings the events in order, and the last event is the position to
 * resume from.
 */
export class Channels implements ConnectionPart {
  readonly #connection: Connection;
  readonly #subscriptions = new Set<Subscription>();
  /** By channel and filter. */
  readonly #wires = new Map<string, Wire>();
  #lastId = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.add(this);
  }

  get isNeeded(): boolean {
    return this.#subscriptions.size > 0;
  }

  subscribe(channel: string, listener: Listener, options: SubscribeOptions): () => void {
    const through = options.filter === undefined || options.filter.trim() === "" ? null : options.filter;
    const subscription: Subscription = { ...options, channel, through, listener, isReset: false };
    this.#subscriptions.add(subscription);
    this.#update();
    return () => {
      if (this.#subscriptions.delete(subscription)) this.#update();
    };
  }

  /** Forgets the positions: with other tokens, the events that the listener may hear have changed. */
  reset(): void {
    this.#wires.clear();
    for (const subscription of this.#subscriptions) subscription.isReset = false;
  }

  close(): void {
    this.#subscriptions.clear();
    this.#update();
  }

  opened(): void {
    for (const wire of this.#wires.values()) this.#ask(wire);
    this.#update();
  }

  lost(): void {
    for (const wire of this.#wires.values()) wire.isLive = false;
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
      this.#connection.send({ action: "unsubscribe", channel, ...(id !== null && { id }) });
    }
    // A new listener of a live channel hears the channel from now on.
    queueMicrotask(() => {
      for (const wire of this.#wires.values()) if (wire.isLive) this.#reset(wire);
    });
    this.#connection.update();
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
    this.#connection.send({ action: "subscribe", channel, ...(since === null ? {} : { since }), ...filtered });
  }

  heard(received: ReceivedFrame): void {
    // A frame of another part has no channel.
    const frame = received as ServerFrame;
    if (frame.type === "event") this.#deliver(frame.event, frame.id ?? null);
    else if (frame.type === "subscribed" && frame.channel !== undefined)
      this.#subscribed(frame.channel, frame.id ?? null);
    else if (frame.type === "error") this.#refused(frame);
  }

  #subscribed(channel: string, id: string | null): void {
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
    this.#connection.update();
  }
}
