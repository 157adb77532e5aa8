/** Connection: a socket, with its listener, its subscriptions, and the frames that it sends and receives. */
import {
  type Channel,
  type ClientFrame,
  MAX_SUBSCRIPTIONS,
  type RoomFrame,
  TOKEN_EXPIRED_CLOSE_CODE,
} from "@socle/protocol";
import { releasedMemory, shareOf } from "../../base/kernel/index.ts";
import { hasScope } from "../../data/permissions/index.ts";
import { type Membership, RoomError, type RoomSocket } from "../rooms/index.ts";
import { type Listener, topicsOfListener } from "./audience.ts";
import { type Feed, frameErrorOf, type ListeningSocket } from "./feed.ts";
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
import type { LiveSource } from "./live-sources.ts";
import { LiveSubscriptions, type ViewingSocket } from "./live-subscriptions.ts";
import { type SubscribedSocket, Subscription } from "./subscription.ts";
import { Inbox } from "./turns.ts";

/** The server's end of a WebSocket. */
type Socket = Bun.ServerWebSocket<SocketConnection>;

/** A frame about a live query. */
type LiveFrame = Extract<ClientFrame, { channel?: never; id: string }>;

/** A channel that a frame names, and the id of its subscription. */
interface Wanted {
  readonly name: string;
  readonly id: string | null;
}

/** A channel that the socket holds. Channels of a collection without a filter share a subscription. */
interface HeldChannel extends Wanted {
  readonly channel: Channel;
  readonly subscription: Subscription;
}

/** The garbage of a refused frame (values, an error with a stack, the answer). In a flood, the collector alone runs too late. */
const refusedBytes = 2 * 1024;

function keyOf({ name, id }: Wanted): string {
  return id === null ? name : `${name} ${id}`;
}

export class SocketConnection implements ListeningSocket, RoomSocket, SubscribedSocket, ViewingSocket {
  readonly #feed: Feed;
  /** The address by which channels are counted. */
  readonly address: string;
  /** Names the socket to its client and to admins. */
  readonly id = crypto.randomUUID();
  readonly openedAt = Date.now();
  /** When the listener's token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** By `keyOf`. */
  readonly #held = new Map<string, HeldChannel>();
  /** The live queries that the socket views. */
  readonly #live: LiveSubscriptions;
  readonly #inbox: Inbox;
  /** Whether each event that the client may have heard before the opening was told here. */
  readonly #isNewest: boolean;
  readonly memberships = new Map<string, Membership>();
  seenAt = performance.now();
  isSlow = false;
  #listener: Listener;
  #socket: Socket | null = null;
  #isBusy = false;
  #replays = Promise.resolve();
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(client: { listener: Listener; expiresAt: number; isNewest: boolean }, address: string, feed: Feed) {
    this.#listener = client.listener;
    this.#isNewest = client.isNewest;
    this.expiresAt = client.expiresAt;
    this.address = address;
    this.#feed = feed;
    this.#live = new LiveSubscriptions(this, feed.live);
    this.#inbox = new Inbox(feed.inboxes, () => {
      if (this.isOpen) feed.limits.reached("socketFrames", { address });
      this.close(1008, "Frames arrive faster than the service can follow");
    });
  }

  get listener(): Listener {
    return this.#listener;
  }

  get caller(): string {
    return shareOf(this.#listener) ?? this.address;
  }

  /** The channels and live queries that the socket holds. */
  get held(): { readonly channels: readonly HeldChannel[]; readonly queries: ReadonlyMap<string, LiveSource> } {
    return { channels: [...this.#held.values()], queries: this.#live.sources };
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  open(socket: Socket): void {
    this.#socket = socket;
    this.#feed.readers.everybody.add(this.#listener);
    this.send(toText({ type: "connected", clientId: this.id }));
  }

  /** Frames are followed one after the other, in the order of arrival, each in a turn of the caller. */
  receive(text: string): void {
    if (!this.isOpen) return;
    this.seen();
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

  /** The client lives. */
  seen(): void {
    this.seenAt = performance.now();
  }

  ping(): void {
    this.#socket?.ping();
  }

  publish(topic: string, text: string): void {
    this.#socket?.publish(topic, text, false);
  }

  countChannel(change: 1 | -1): void {
    this.#feed.countChannel(this.address, change);
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

  appear(collection: string): void {
    for (const subscription of this.#subscriptions())
      if (subscription.collection === collection && subscription.filter === null) subscription.appear();
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

  replayInLine(replay: () => Promise<void>): void {
    this.#replays = this.#replays.then(replay);
  }

  /** Takes a new role of the listener, and joins the topics of that role. */
  changeListener(listener: Listener): void {
    const { everybody } = this.#feed.readers;
    const all = this.#subscriptions();
    for (const subscription of all) subscription.suspend();
    everybody.remove(this.#listener);
    this.#listener = listener;
    everybody.add(listener);
    for (const subscription of all) subscription.resume();
    this.#live.changeListener();
    this.#feed.rooms.changeListener(this);
  }

  /** The token has expired, or the session or the API key has ended: says so and closes. */
  expire(): void {
    const message = "The access token has expired, or the session or API key has ended.";
    this.send(errorText(new FrameError("token_expired", message)));
    this.close(TOKEN_EXPIRED_CLOSE_CODE, "token_expired");
  }

  /** A failure that no client caused: the socket is closed, and can come back. */
  fail(thrown: unknown): void {
    this.#feed.logger.error("A socket failed and was closed", { error: thrown });
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
    for (const held of [...this.#held.values()]) this.#drop(held);
    this.#live.endAll();
    this.#feed.rooms.leaveAll(this);
    this.#inbox.clear();
    if (this.#socket !== null) this.#feed.readers.everybody.remove(this.#listener);
    this.#socket = null;
    this.drain();
  }

  refuse(subscription: Subscription, error: FrameError, types: readonly string[]): void {
    for (const held of [...this.#held.values()]) {
      if (held.subscription !== subscription || !held.channel.types.some((type) => types.includes(type))) continue;
      this.send(errorText(error.about(held)));
      this.#drop(held);
    }
  }

  #subscriptions(): Set<Subscription> {
    return new Set([...this.#held.values()].map(({ subscription }) => subscription));
  }

  async #work(): Promise<void> {
    const { turns } = this.#feed;
    this.#isBusy = true;
    while (this.#inbox.bytes > 0) {
      const end = await turns.take(this.caller);
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
      else if ("room" in frame) this.#followRoom(frame);
      else if (frame.channel === undefined) this.#followLive(frame);
      else if (frame.action === "subscribe") this.#subscribe(frame);
      else this.#unsubscribe({ name: frame.channel, id: frame.id ?? null });
    } catch (thrown) {
      if (thrown instanceof FrameError) this.#refuse(thrown);
      else this.fail(thrown);
    }
  }

  /** @throws FrameError `subscription_limit`, and as `LiveQueries.view`. */
  #followLive(frame: LiveFrame): void {
    const { id } = frame;
    if (frame.action === "unsubscribe") {
      this.#live.end(id);
      this.send(replyText("unsubscribed", null, id));
      return;
    }
    const isNew = !this.#live.has(id);
    if (isNew) this.#checkRoom({ name: null, id });
    try {
      this.#live.begin(id, sourceOf(frame.query), frame.since ?? null);
    } catch (thrown) {
      throw thrown instanceof FrameError ? thrown.about({ name: null, id }) : thrown;
    }
    if (!isNew) return;
    this.#feed.countChannel(this.address, 1);
    if (this.#live.size === 1) this.#feed.positions.add(this.caller, this.#live);
  }

  /** @throws FrameError `subscription_limit`, and of `RoomError`. */
  #followRoom(frame: RoomFrame): void {
    const { rooms } = this.#feed;
    const { room, key } = frame;
    try {
      if (frame.action === "join") {
        if (!rooms.isMember(this, frame)) this.#checkRoom({ name: null, id: null, room, key });
        rooms.join(this, frame);
      } else if (frame.action === "state") rooms.setState(this, frame);
      else if (frame.action === "send") rooms.send(this, frame);
      else {
        rooms.leave(this, frame);
        this.send(toText({ type: "left", room, key }));
      }
    } catch (thrown) {
      throw thrown instanceof RoomError ? frameErrorOf(thrown, room, key) : thrown;
    }
  }

  gaveUp(): void {
    this.#feed.countChannel(this.address, -1);
    if (this.#live.size === 0) this.#feed.positions.delete(this.caller, this.#live);
  }

  #refuse(error: FrameError): void {
    this.send(errorText(error));
    releasedMemory(refusedBytes);
  }

  /** @throws FrameError `invalid_channel`, `invalid_filter`, `filter_limit`, `subscription_limit`, `resume_gap`. */
  #subscribe(frame: ClientFrame & { action: "subscribe"; channel: string }): void {
    const { channel: name, since = null, filter = null, id = null } = frame;
    const wanted = { name, id };
    const channel = this.#feed.channel(name);
    const [noun = ""] = name.split(".");
    if (!hasScope(this.#listener, noun, "read"))
      throw new FrameError("invalid_channel", `The API key has no scope for the channel: ${noun}:read.`, name);
    let held = this.#held.get(keyOf(wanted));
    if (held === undefined) this.#checkRoom(wanted);
    if (id === null) this.#refuseOverlap(name, channel, filter);
    if (filter !== null && channel.collection === null)
      throw new FrameError("invalid_filter", `"${name}" is not about records, and takes no filter.`, name);
    const seq = since === null ? null : this.#feed.seqOf(since, this.#listener, channel.collection);
    if (since !== null && seq === null) {
      if (this.#isNewest || !this.#feed.isAhead(since)) throw gapError({ channel: name, id }, since);
      this.close(1013, "This instance does not have the event yet");
      return;
    }
    if (held === undefined || held.subscription.filter !== filter) {
      held = this.#hold(wanted, channel, filter);
      held.subscription.add(channel.types, seq ?? this.#feed.seq);
    }
    if (seq === null) held.subscription.begin(channel.types);
    this.send(replyText("subscribed", name, id));
    if (seq !== null) held.subscription.replay(seq, channel.types);
  }

  /** @throws FrameError `subscription_limit`: the socket, its address or the service holds no further channel. */
  #checkRoom({ name, ...wanted }: Omit<FrameSubject, "channel"> & { readonly name: string | null }): void {
    const message = `A socket holds at most ${MAX_SUBSCRIPTIONS} channels, live queries and rooms; unsubscribe from one first.`;
    const held = this.#held.size + this.#live.size + this.memberships.size;
    const reason = held >= MAX_SUBSCRIPTIONS ? message : this.#feed.fullFor(this.address);
    if (reason !== null) throw new FrameError("subscription_limit", reason, { ...wanted, channel: name });
  }

  /** @throws FrameError `invalid_filter`. */
  #refuseOverlap(name: string, { types }: Channel, filter: string | null): void {
    for (const held of this.#held.values()) {
      if (held.id !== null || held.name === name || (filter === null && held.subscription.filter === null)) continue;
      if (held.channel.types.some((type) => types.includes(type))) throw overlap(name, held.name);
    }
  }

  /** Holds a channel, in place of the channel with another filter. @throws FrameError `invalid_filter`, `filter_limit`. */
  #hold(wanted: Wanted, channel: Channel, filter: string | null): HeldChannel {
    const subscription = this.#subscriptionFor(wanted, channel, filter);
    this.#drop(wanted);
    this.#feed.countChannel(this.address, 1);
    const held = { ...wanted, channel, subscription };
    this.#held.set(keyOf(wanted), held);
    return held;
  }

  #subscriptionFor({ name, id }: Wanted, { collection }: Channel, filter: string | null): Subscription {
    const isShared = (each: Subscription): boolean => each.filter === null && each.collection === collection;
    const shared = filter === null ? [...this.#subscriptions()].find(isShared) : undefined;
    try {
      return shared ?? new Subscription(this, this.#feed, { collection, filter, id });
    } catch (thrown) {
      throw thrown instanceof FrameError ? thrown.about({ name, id }) : thrown;
    }
  }

  #unsubscribe(wanted: Wanted): void {
    this.#feed.channel(wanted.name);
    this.#drop(wanted);
    this.send(replyText("unsubscribed", wanted.name, wanted.id));
  }

  #drop(wanted: Wanted): void {
    const key = keyOf(wanted);
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    held.subscription.remove(held.channel.types);
    this.#feed.countChannel(this.address, -1);
  }
}

function sourceOf(query: Extract<LiveFrame, { query: object }>["query"]): LiveSource {
  if ("name" in query) return { name: query.name, args: query.args ?? {} };
  const { collection, ...parameters } = query;
  return { collection, parameters: new Map(Object.entries(parameters).map(([name, value]) => [name, String(value)])) };
}
