import {
  type Channel,
  type ClientFrame,
  MAX_SUBSCRIPTIONS,
  parseChannel,
  TOKEN_EXPIRED_CLOSE_CODE,
} from "@socle/protocol";
import { quote } from "../kernel/index.ts";
import { type Listener, topicsOfListener } from "./audience.ts";
import { errorText, FrameError, parseFrame, toText } from "./frames.ts";
import { Replays } from "./replays.ts";
import { TypeSubscription } from "./type-subscription.ts";
import type { Feed, Replayed, Socket } from "./types.ts";

/** One socket: who listens, to which channels, and what was sent. */
export class Connection implements Replayed {
  readonly #feed: Feed;
  readonly #channels = new Map<string, Channel>();
  readonly #types = new Map<string, TypeSubscription>();
  readonly #replays: Replays;
  readonly #waiting: string[] = [];
  /** When the listener's token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  #listener: Listener;
  #socket: Socket | null = null;
  #isBusy = false;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(listener: Listener, expiresAt: number, feed: Feed) {
    this.#listener = listener;
    this.expiresAt = expiresAt;
    this.#feed = feed;
    this.#replays = new Replays(this, feed);
  }

  get listener(): Listener {
    return this.#listener;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  open(socket: Socket): void {
    this.#socket = socket;
  }

  /** Frames are followed one after the other, in the order in which they came. */
  async receive(text: string): Promise<void> {
    this.#waiting.push(text);
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#follow(next);
    this.#isBusy = false;
  }

  send(text: string): void {
    this.#socket?.send(text, false);
  }

  /** Resolves when less than `bytes` wait to be sent, or when the socket is gone. */
  async drainedBelow(bytes: number): Promise<void> {
    while (this.#socket !== null && this.#socket.getBufferedAmount() >= bytes) {
      this.#drained ??= Promise.withResolvers();
      await this.#drained.promise;
    }
  }

  drain(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  /** Whether the socket still holds just this subscription. */
  holds(subscription: TypeSubscription): boolean {
    return this.#types.get(subscription.type) === subscription;
  }

  /** The socket hears the type from the next event on. */
  goLive(subscription: TypeSubscription): void {
    subscription.isLive = true;
    for (const topic of topicsOfListener(subscription.type, this.#listener)) this.#socket?.subscribe(topic);
    this.#feed.join(subscription.type, subscription.channel.collection);
  }

  /** The socket hears nothing more of the type, until a replay has brought what comes. */
  pause(subscription: TypeSubscription): void {
    if (!subscription.isLive) return;
    subscription.isLive = false;
    subscription.to = this.#feed.place;
    for (const topic of topicsOfListener(subscription.type, this.#listener)) this.#socket?.unsubscribe(topic);
    this.#feed.leave(subscription.type);
  }

  /** What may be heard changes with the listener's role. */
  changeListener(listener: Listener): void {
    const live = [...this.#types.values()].filter(({ isLive }) => isLive);
    for (const subscription of live) this.pause(subscription);
    this.#listener = listener;
    for (const subscription of live) this.goLive(subscription);
  }

  /** The token has expired or the session has ended: says so and closes. */
  expire(): void {
    this.send(errorText(new FrameError("token_expired", "The access token has expired, or its session has ended.")));
    this.close(TOKEN_EXPIRED_CLOSE_CODE, "token_expired");
  }

  /** Something went wrong that is nobody's fault: the socket is closed, and can come back. */
  fail(thrown: unknown): void {
    this.#feed.report(thrown);
    this.close(1011, "internal_error");
  }

  close(code: number, reason: string): void {
    const socket = this.#socket;
    this.end();
    socket?.close(code, reason);
  }

  /** Lets go of everything; the socket is closed or about to be. */
  end(): void {
    for (const subscription of this.#types.values()) this.pause(subscription);
    this.#types.clear();
    this.#channels.clear();
    this.#waiting.length = 0;
    this.#socket = null;
    this.drain();
  }

  /** The names of the socket's channels that carry one of these types. */
  channelsOf(types: readonly string[]): string[] {
    const carrying = [...this.#channels].filter(([, channel]) => channel.types.some((type) => types.includes(type)));
    return carrying.map(([name]) => name);
  }

  /** Takes a channel out again, without an answer. */
  drop(name: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    this.#channels.delete(name);
    for (const type of channel.types) {
      const subscription = this.#types.get(type);
      if (subscription === undefined) continue;
      subscription.channels -= 1;
      if (subscription.channels > 0) continue;
      this.pause(subscription);
      this.#types.delete(type);
    }
    this.#replays.prune();
  }

  async #follow(text: string): Promise<void> {
    try {
      const frame = parseFrame(text);
      if (frame.action === "ping") this.send(toText({ type: "pong" }));
      else if (frame.action === "subscribe") await this.#subscribe(frame);
      else this.#unsubscribe(frame.channel);
    } catch (thrown) {
      if (thrown instanceof FrameError) this.send(errorText(thrown));
      else this.fail(thrown);
    }
  }

  async #subscribe(frame: ClientFrame & { action: "subscribe" }): Promise<void> {
    const name = frame.channel;
    const channel = parseKnown(name);
    if (!this.#channels.has(name) && this.#channels.size >= MAX_SUBSCRIPTIONS)
      throw new FrameError(
        "subscription_limit",
        `A socket holds at most ${MAX_SUBSCRIPTIONS} channels; unsubscribe from one first.`,
        name,
      );
    const since = frame.since ?? null;
    const place = since === null ? null : await this.#feed.placeOf(since);
    if (since !== null && place === null)
      throw new FrameError(
        "resume_gap",
        `The log does not hold everything since ${quote(since)}. Subscribe without "since" and read the data anew.`,
        name,
      );
    if (!this.isOpen) return;
    const subscriptions = this.#add(name, channel, place);
    this.send(toText({ type: "subscribed", channel: name }));
    if (place !== null) this.#replays.add({ channel: name, since: place, subscriptions });
  }

  /** Adds a channel. Types that are new are live from here on, unless a replay is to bring them up to date first. */
  #add(name: string, channel: Channel, since: number | null): TypeSubscription[] {
    const isNew = !this.#channels.has(name);
    this.#channels.set(name, channel);
    return channel.types.map((type) => {
      let subscription = this.#types.get(type);
      if (subscription === undefined) {
        subscription = new TypeSubscription(type, channel, since ?? this.#feed.place);
        this.#types.set(type, subscription);
        if (since === null) this.goLive(subscription);
      }
      if (isNew) subscription.channels += 1;
      return subscription;
    });
  }

  #unsubscribe(name: string): void {
    parseKnown(name);
    this.drop(name);
    this.send(toText({ type: "unsubscribed", channel: name }));
  }
}

function parseKnown(name: string): Channel {
  const channel = parseChannel(name);
  if (channel !== null) return channel;
  throw new FrameError(
    "invalid_channel",
    `${quote(name)} is no channel. There are "{collection}.created", ".updated", ".deleted" and ".*", and those of auth, storage, function, job and "system.collection.created".`,
    name,
  );
}
