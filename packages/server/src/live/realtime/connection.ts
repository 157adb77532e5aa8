/** Connection: a socket, with its listener, its subscriptions, and the frames that it sends and receives. */
import { type Channel, type ClientFrame, MAX_SUBSCRIPTIONS, TOKEN_EXPIRED_CLOSE_CODE } from "@socle/protocol";
import { isAdmin } from "../../base/kernel/index.ts";
import { type Listener, topicsOfListener } from "./audience.ts";
import { type NamedChannel, parseKnown } from "./channel-table.ts";
import type { Feed, ListeningSocket } from "./feed.ts";
import {
  errorText,
  FrameError,
  type FrameSubject,
  gapError,
  overlap,
  parseFrame,
  replyText,
  toText,
} from "./frames.ts";
import { Inbox } from "./inbox.ts";
import type { Buffered } from "./socket-buffers.ts";
import { type SubscribedSocket, Subscription } from "./subscription.ts";

/** The server's end of a WebSocket: the part of Bun's `ServerWebSocket` that a connection uses. */
export interface Socket {
  send(text: string, compress: boolean): unknown;
  subscribe(topic: string): unknown;
  unsubscribe(topic: string): unknown;
  isSubscribed(topic: string): boolean;
  getBufferedAmount(): number;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** The caller behind a socket. */
export interface Client {
  readonly listener: Listener;
  /** When the listener's token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** The address by which channels are counted. */
  readonly address: string;
}

/** A channel with a filter. */
interface Filtered {
  readonly channel: NamedChannel;
  readonly subscription: Subscription;
}

function keyOf({ name, id }: Wanted): string {
  return id === null ? name : `${name} ${id}`;
}

/** A channel that a frame names, and the id of its subscription. */
interface Wanted {
  readonly name: string;
  readonly id: string | null;
}

export class SocketConnection implements Buffered, ListeningSocket, SubscribedSocket {
  readonly #feed: Feed;
  readonly #address: string;
  readonly expiresAt: number;
  /** Channels without a filter, by name; null while the collection does not exist. */
  readonly #channels = new Map<string, NamedChannel | null>();
  /** The types of the channels without a filter. */
  readonly #whole: Subscription;
  /** Channels with a filter, by `keyOf`. */
  readonly #filtered = new Map<string, Filtered>();
  readonly #inbox: Inbox;
  isSlow = false;
  #listener: Listener;
  #socket: Socket | null = null;
  #isBusy = false;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor({ listener, expiresAt, address }: Client, feed: Feed) {
    this.#listener = listener;
    this.expiresAt = expiresAt;
    this.#address = address;
    this.#feed = feed;
    this.#whole = new Subscription(this, feed, { id: null, filter: null });
    this.#inbox = new Inbox(feed.inboxes, () => {
      if (this.isOpen) feed.flooded(address);
      this.close(1008, "Frames come faster than they can be followed");
    });
  }

  get listener(): Listener {
    return this.#listener;
  }

  get caller(): string {
    return this.#listener?.userId ?? this.#address;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  open(socket: Socket): void {
    this.#socket = socket;
    this.#feed.listens(this, true);
  }

  /** Frames are followed one after the other, in the order of arrival, each in a turn of the caller. */
  receive(text: string): void {
    if (!this.isOpen) return;
    this.#inbox.put(text);
    if (!this.#isBusy) void this.#work();
  }

  send(text: string): void {
    this.sendNow(text);
    this.#feed.buffers.sent(text.length);
  }

  sendNow(text: string): void {
    // 0: the buffer is full, the text was not sent, and the runtime closes the socket.
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

  topics(type: string, change: "join" | "leave"): void {
    if (change === "leave") this.#feed.buffers.catchUp(this);
    for (const topic of topicsOfListener(type, this.#listener)) this[change](topic);
  }

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

  hears(type: string, seq: number): boolean {
    return this.#whole.hears(type, seq);
  }

  replay(after: number, types: readonly string[]): void {
    this.#whole.replay(after, types);
  }

  /** A collection was made: channels that were subscribed before hear its events from now on. */
  wake(collection: string): void {
    for (const [name, channel] of this.#channels)
      if (channel === null && name.startsWith(`${collection}.`)) this.#whole.begin(this.#hold(name, null).types);
  }

  /** Takes a new role of the listener, and joins the topics of that role. */
  changeListener(listener: Listener): void {
    const all = this.#subscriptions();
    for (const subscription of all) subscription.suspend();
    this.#feed.listens(this, false);
    this.#listener = listener;
    this.#feed.listens(this, true);
    for (const subscription of all) subscription.resume();
  }

  /** The token has expired or the session has ended: says so and closes. */
  expire(): void {
    this.send(errorText(new FrameError("token_expired", "The access token has expired, or its session has ended.")));
    this.close(TOKEN_EXPIRED_CLOSE_CODE, "token_expired");
  }

  /** A failure that no client caused: the socket is closed, and can come back. */
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
    this.#feed.buffers.ending(this);
    for (const channel of this.#channels.values()) this.#giveBack(channel);
    for (const { channel } of this.#filtered.values()) this.#giveBack(channel);
    for (const subscription of this.#subscriptions()) subscription.end();
    this.#channels.clear();
    this.#filtered.clear();
    this.#inbox.clear();
    if (this.#socket !== null) this.#feed.listens(this, false);
    this.#socket = null;
    this.drain();
  }

  breakOff(subscription: Subscription, types: readonly string[]): void {
    const message = 'The log no longer holds what comes next. Subscribe without "since" and read the data anew.';
    this.refuse(subscription, new FrameError("resume_gap", message), types);
  }

  refuse(subscription: Subscription, error: FrameError, types: readonly string[] = []): void {
    for (const wanted of this.#wantedOf(subscription, types)) {
      this.send(errorText(error.about(wanted)));
      this.#drop(wanted);
    }
  }

  #subscriptions(): Subscription[] {
    return [this.#whole, ...[...this.#filtered.values()].map(({ subscription }) => subscription)];
  }

  /** The channel of a subscription with a filter, or the channels without a filter that carry some of the types. */
  #wantedOf(subscription: Subscription, types: readonly string[]): Wanted[] {
    for (const filtered of this.#filtered.values())
      if (filtered.subscription === subscription) return [{ name: filtered.channel.name, id: subscription.id }];
    return this.#carrying(types).map((name) => ({ name, id: null }));
  }

  /** The channels without a filter that carry some of the types. */
  #carrying(types: readonly string[]): string[] {
    const carrying = [...this.#channels].filter(([, channel]) => channel?.types.some((type) => types.includes(type)));
    return carrying.map(([name]) => name);
  }

  async #work(): Promise<void> {
    const { turns } = this.#feed;
    this.#isBusy = true;
    while (this.#inbox.bytes > 0) {
      const end = turns.takeNow() ?? (await turns.take(this.caller));
      const text = this.#inbox.take();
      if (text !== undefined) this.#follow(text);
      end();
    }
    this.#isBusy = false;
  }

  #follow(text: string): void {
    try {
      const frame = parseFrame(text);
      if (frame.action === "ping") this.send(toText({ type: "pong" }));
      else if (frame.action === "subscribe") this.#subscribe(frame);
      else this.#unsubscribe({ name: frame.channel, id: frame.id ?? null });
    } catch (thrown) {
      if (thrown instanceof FrameError) this.send(errorText(thrown));
      else this.fail(thrown);
    }
  }

  #subscribe(frame: ClientFrame & { action: "subscribe" }): void {
    const { channel: name, since = null, filter = null, id = null } = frame;
    const wanted = { name, id };
    const channel = parseKnown(name);
    const isHeld = this.#filtered.has(keyOf(wanted)) || (id === null && this.#channels.has(name));
    if (!isHeld && this.#channels.size + this.#filtered.size >= MAX_SUBSCRIPTIONS)
      throw new FrameError(
        "subscription_limit",
        `A socket holds at most ${MAX_SUBSCRIPTIONS} channels; unsubscribe from one first.`,
        { channel: name, id },
      );
    if (id === null) this.#refuseOverlap(name, channel, filter);
    if (filter !== null && channel.collection === null)
      throw new FrameError("invalid_filter", `"${name}" is not about records, and takes no filter.`, name);
    const seq = since === null ? null : this.#seqOf(since, { channel: name, id }, channel.collection);
    if (filter === null) this.#hear(name, channel, seq);
    else this.#hearFiltered(wanted, filter, seq);
  }

  /** @throws FrameError `invalid_filter`. */
  #refuseOverlap(name: string, { types }: Channel, filter: string | null): void {
    const others = [...this.#filtered.values()].filter(({ subscription }) => subscription.id === null);
    const filtered = others.find(({ channel, subscription }) => channel.name !== name && subscription.carries(types));
    if (filtered !== undefined) throw overlap(name, filtered.channel.name);
    const whole = filter === null ? undefined : this.#carrying(types).find((held) => held !== name);
    if (whole !== undefined) throw overlap(name, whole);
  }

  #hear(name: string, { collection, types }: Channel, seq: number | null): void {
    // A channel without a filter replaces the same channel with a filter.
    this.#dropFiltered({ name, id: null });
    if (!this.#channels.has(name)) {
      this.#feed.channels.take(name, this.#address);
      this.#channels.set(name, null);
    }
    // Events of a dropped collection are for admins.
    const isSilent = !this.#feed.exists(collection) && (seq === null || !isAdmin(this.#listener));
    if (!isSilent) this.#hold(name, seq);
    if (!isSilent && seq === null) this.#whole.begin(types);
    this.send(replyText("subscribed", name, null));
    if (!isSilent && seq !== null) this.#whole.replay(seq, types);
  }

  /** Another filter replaces the former filter. */
  #hearFiltered(wanted: Wanted, text: string, seq: number | null): void {
    const { name, id } = wanted;
    let subscription = this.#filtered.get(keyOf(wanted))?.subscription;
    if (subscription?.filter?.text !== text) {
      const channel = this.#feed.channels.hold(name);
      try {
        subscription = this.#makeFiltered(wanted, channel, text);
      } catch (thrown) {
        this.#feed.channels.release(channel);
        throw thrown;
      }
      subscription.add(channel, seq ?? this.#feed.seq);
      this.#filtered.set(keyOf(wanted), { channel, subscription });
      if (seq === null) subscription.begin();
    }
    this.send(replyText("subscribed", name, id));
    if (seq === null) return;
    // A collection that does not exist has no events to replay.
    if (this.#feed.exists(subscription.filter?.collection ?? null)) subscription.replay(seq);
    else subscription.begin();
  }

  /** A subscription in place of the former subscription. @throws FrameError `invalid_filter`, `filter_limit`, `subscription_limit`. */
  #makeFiltered(wanted: Wanted, { collection }: Channel, text: string): Subscription {
    const filter = { collection: collection ?? "", text };
    let subscription: Subscription;
    try {
      subscription = new Subscription(this, this.#feed, { id: wanted.id, filter });
    } catch (thrown) {
      throw thrown instanceof FrameError ? thrown.about(wanted) : thrown;
    }
    this.#drop(wanted);
    try {
      this.#feed.channels.take(wanted.name, this.#address);
    } catch (thrown) {
      subscription.end();
      throw thrown;
    }
    return subscription;
  }

  /** The seq at which a replay starts. @throws FrameError `resume_gap`. */
  #seqOf(since: string, wanted: FrameSubject, collection: Channel["collection"]): number | null {
    const seq = this.#feed.seqOf(since);
    if (seq === null || this.#feed.isClosedAfter(seq, this.#listener, collection)) throw gapError(wanted, since);
    return seq;
  }

  #giveBack(channel: NamedChannel | null): void {
    this.#feed.channels.giveBack(this.#address);
    if (channel !== null) this.#feed.channels.release(channel);
  }

  /** Holds a channel's types, and gives them to the subscription once. */
  #hold(name: string, since: number | null): NamedChannel {
    const held = this.#channels.get(name) ?? null;
    if (held !== null) return held;
    const channel = this.#feed.channels.hold(name);
    this.#channels.set(name, channel);
    this.#whole.add(channel, since ?? this.#feed.seq);
    return channel;
  }

  #unsubscribe(wanted: Wanted): void {
    parseKnown(wanted.name);
    this.#drop(wanted);
    this.send(replyText("unsubscribed", wanted.name, wanted.id));
  }

  /** Takes a channel out, with or without a filter. */
  #drop(wanted: Wanted): void {
    this.#dropFiltered(wanted);
    const channel = this.#channels.get(wanted.name);
    if (wanted.id !== null || channel === undefined) return;
    this.#channels.delete(wanted.name);
    this.#giveBack(channel);
    if (channel !== null) this.#whole.remove(channel);
  }

  #dropFiltered(wanted: Wanted): void {
    const filtered = this.#filtered.get(keyOf(wanted));
    if (filtered === undefined) return;
    this.#filtered.delete(keyOf(wanted));
    filtered.subscription.end();
    this.#giveBack(filtered.channel);
  }
}
