import { type ClientFrame, MAX_SUBSCRIPTIONS, parseChannel, TOKEN_EXPIRED_CLOSE_CODE } from "@socle/protocol";
import { type Listener, topicsOfListener } from "./audience.ts";
import type { NamedChannel } from "./channel-table.ts";
import { errorText, FrameError, gapError, parseFrame, toText, unknownChannel } from "./frames.ts";
import { Inbox } from "./inbox.ts";
import { ReplayPace } from "./replay-pace.ts";
import { Replays } from "./replays.ts";
import { TypeSubscription } from "./type-subscription.ts";
import type { Buffered, Feed, Replayed, Socket } from "./types.ts";

/** One socket: who listens, to which channels, and what was sent. */
export class Connection implements Replayed, Buffered {
  readonly #feed: Feed;
  readonly #channels = new Map<string, NamedChannel>();
  readonly #types = new Map<string, TypeSubscription>();
  readonly #replays: Replays;
  readonly #inbox: Inbox;
  readonly #pace = new ReplayPace();
  /** When the listener's token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  isSlow = false;
  #listener: Listener;
  #socket: Socket | null = null;
  #isBusy = false;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(listener: Listener, expiresAt: number, feed: Feed) {
    this.#listener = listener;
    this.expiresAt = expiresAt;
    this.#feed = feed;
    this.#replays = new Replays(this, feed);
    this.#inbox = new Inbox(feed.inboxes);
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
    if (!this.#inbox.put(text)) {
      this.close(1008, "Frames come faster than they can be followed");
      return;
    }
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let next = this.#inbox.take(); next !== undefined; next = this.#inbox.take()) await this.#follow(next);
    this.#isBusy = false;
  }

  send(text: string): void {
    this.sendNow(text);
    this.#feed.sent(text.length);
  }

  sendNow(text: string): void {
    // 0: the buffer is full, so it was not sent, and the runtime closes the socket.
    if (this.#socket?.send(text, false) === 0) this.isSlow = true;
  }

  waiting(): number {
    return this.#socket?.getBufferedAmount() ?? 0;
  }

  cutOff(): void {
    const socket = this.#socket;
    this.end();
    socket?.terminate();
  }

  hasJoined(topic: string): boolean {
    return this.#socket?.isSubscribed(topic) === true;
  }

  join(topic: string): void {
    this.#socket?.subscribe(topic);
  }

  leave(topic: string): void {
    this.#socket?.unsubscribe(topic);
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
    if (this.#feed.exists(subscription.channel.collection)) this.#join(subscription);
  }

  /** A collection was made: the channels that were subscribed before are joined. */
  wake(collection: string): void {
    for (const subscription of this.#types.values())
      if (subscription.isLive && subscription.channel.collection === collection) this.#join(subscription);
  }

  #join(subscription: TypeSubscription): void {
    if (subscription.hasJoined) return;
    subscription.hasJoined = true;
    for (const topic of topicsOfListener(subscription.type, this.#listener)) this.join(topic);
    this.#feed.join(subscription.type, subscription.channel.collection);
  }

  /** The socket hears nothing more of the type, until a replay has brought what comes. */
  pause(subscription: TypeSubscription): void {
    if (!subscription.isLive) return;
    subscription.isLive = false;
    subscription.to = this.#feed.place;
    if (!subscription.hasJoined) return;
    subscription.hasJoined = false;
    for (const topic of topicsOfListener(subscription.type, this.#listener)) this.leave(topic);
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
    for (const channel of this.#channels.values()) this.#feed.channels.release(channel);
    this.#types.clear();
    this.#channels.clear();
    this.#inbox.clear();
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
    this.#feed.channels.release(channel);
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

  async #subscribe({ channel: name, since = null }: ClientFrame & { action: "subscribe" }): Promise<void> {
    const channel = parseChannel(name);
    if (channel === null) throw unknownChannel(name);
    if (!this.#channels.has(name)) this.#refuseBeyondLimits(name);
    let place: number | null = null;
    if (since !== null) {
      await this.#pace.turn();
      if (!this.isOpen) return;
      place = await this.#feed.placeOf(since);
      const isClosed = place !== null && this.#feed.isClosedAfter(place, this.#listener, channel.collection);
      if (place === null || isClosed) throw gapError(name, since);
    }
    if (!this.isOpen) return;
    const subscriptions = this.#add(name, place);
    this.send(toText({ type: "subscribed", channel: name }));
    if (place !== null) this.#replays.add({ channel: name, since: place, subscriptions });
  }

  #refuseBeyondLimits(name: string): void {
    if (this.#channels.size >= MAX_SUBSCRIPTIONS)
      throw new FrameError(
        "subscription_limit",
        `A socket holds at most ${MAX_SUBSCRIPTIONS} channels; unsubscribe from one first.`,
        name,
      );
    if (this.#feed.channels.isFull) {
      this.#feed.channels.refused();
      throw new FrameError(
        "subscription_limit",
        "All sockets together hold as many channels as this service allows. Try again later.",
        name,
      );
    }
  }

  /** Adds a channel. Types that are new are live from here on, unless a replay is to bring them up to date first. */
  #add(name: string, since: number | null): TypeSubscription[] {
    const held = this.#channels.get(name);
    const channel = held ?? this.#feed.channels.hold(name);
    if (channel === null) throw unknownChannel(name);
    if (held === undefined) this.#channels.set(channel.name, channel);
    return channel.types.map((type) => {
      let subscription = this.#types.get(type);
      if (subscription === undefined) {
        subscription = new TypeSubscription(type, channel, since ?? this.#feed.place);
        this.#types.set(type, subscription);
        if (since === null) this.goLive(subscription);
      }
      if (held === undefined) subscription.channels += 1;
      return subscription;
    });
  }

  #unsubscribe(name: string): void {
    if (parseChannel(name) === null) throw unknownChannel(name);
    this.drop(name);
    this.send(toText({ type: "unsubscribed", channel: name }));
  }
}
