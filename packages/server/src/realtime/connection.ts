/** Connection: one socket, with its listener, its channels, and the frames that it sends and receives. */
import { type Channel, type ClientFrame, MAX_SUBSCRIPTIONS, TOKEN_EXPIRED_CLOSE_CODE } from "@socle/protocol";
import { isAdmin } from "../kernel/index.ts";
import { type Listener, topicsOfListener } from "./audience.ts";
import { type NamedChannel, parseKnown } from "./channel-table.ts";
import type { FilteredSubscription } from "./filtered-subscription.ts";
import { FilteredSubscriptions, overlap } from "./filtered-subscriptions.ts";
import { errorText, FrameError, type FrameSubject, gapError, parseFrame, replyText, toText } from "./frames.ts";
import { Inbox } from "./inbox.ts";
import { ReplayPace } from "./replay-pace.ts";
import { Replays } from "./replays.ts";
import { TypeSubscription } from "./type-subscription.ts";
import type { Buffered, Feed, Replayed, Socket } from "./types.ts";

/** Why no more channels can be taken. */
const fullText = {
  all: "All sockets together hold as many channels as this service allows. Try again later.",
  address:
    "The sockets of your address together hold as many channels as one address may. Unsubscribe from some first.",
};

export class Connection implements Replayed, Buffered {
  /** Its channels without a filter are one subscription. */
  readonly id = null;
  readonly filter = null;
  readonly #feed: Feed;
  /** By which channels are counted. */
  readonly #address: string;
  /** By name; null while there is no such collection: nobody writes its events, so the name is all that is kept. */
  readonly #channels = new Map<string, NamedChannel | null>();
  readonly #types = new Map<string, TypeSubscription>();
  readonly #filtered: FilteredSubscriptions;
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

  constructor(client: { listener: Listener; expiresAt: number; address: string }, feed: Feed) {
    this.#listener = client.listener;
    this.expiresAt = client.expiresAt;
    this.#address = client.address;
    this.#feed = feed;
    this.#replays = new Replays(this, feed);
    this.#filtered = new FilteredSubscriptions(this, feed);
    this.#inbox = new Inbox(feed.inboxes, () => {
      if (this.isOpen) feed.flooded(client.address);
      this.close(1008, "Frames come faster than they can be followed");
    });
  }

  get listener(): Listener {
    return this.#listener;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  open(socket: Socket): void {
    this.#socket = socket;
    this.#feed.listens(this, true);
  }

  /** Frames are followed one after the other, in the order in which they came. */
  async receive(text: string): Promise<void> {
    if (!this.isOpen) return;
    if (this.#isBusy) {
      this.#inbox.put(text);
      return;
    }
    this.#isBusy = true;
    for (let next: string | undefined = text; next !== undefined; next = this.#inbox.take()) await this.#follow(next);
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

  /** Whether the socket hears a type as it happens. */
  isLive(type: string): boolean {
    return this.#types.get(type)?.isLive === true;
  }

  /** Whether the socket still holds just this subscription. */
  holds(subscription: TypeSubscription): boolean {
    return this.#types.get(subscription.type) === subscription;
  }

  /** The socket hears the type from the next event on. */
  goLive(subscription: TypeSubscription): void {
    subscription.isLive = true;
    for (const topic of topicsOfListener(subscription.type, this.#listener)) this.join(topic);
    this.#feed.join(subscription.type, subscription.channel.collection);
  }

  /** The socket hears nothing more of the type, until a replay has brought what comes. */
  pause(subscription: TypeSubscription): void {
    if (!subscription.isLive) return;
    this.#feed.catchUp(this);
    subscription.isLive = false;
    subscription.to = this.#feed.seq;
    for (const topic of topicsOfListener(subscription.type, this.#listener)) this.leave(topic);
    this.#feed.leave(subscription.type);
  }

  /** A collection was made: channels that were subscribed before hear of it from now on. */
  wake(collection: string): void {
    for (const [name, channel] of this.#channels)
      if (channel === null && name.startsWith(`${collection}.`)) this.#hold(name, null);
  }

  /** Takes a new role of the listener, and joins the topics that it allows. */
  changeListener(listener: Listener): void {
    const live = [...this.#types.values()].filter(({ isLive }) => isLive);
    for (const subscription of live) this.pause(subscription);
    const resume = this.#filtered.suspend();
    this.#feed.listens(this, false);
    this.#listener = listener;
    this.#feed.listens(this, true);
    for (const subscription of live) this.goLive(subscription);
    resume();
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
    this.#feed.ending(this);
    for (const subscription of this.#types.values()) this.pause(subscription);
    for (const channel of this.#channels.values()) this.#giveBack(channel);
    for (let left = this.#filtered.clear(); left > 0; left--) this.#giveBack(null);
    this.#types.clear();
    this.#channels.clear();
    this.#inbox.clear();
    if (this.#socket !== null) this.#feed.listens(this, false);
    this.#socket = null;
    this.drain();
  }

  /** The names of the socket's channels that carry one of these types. */
  channelsOf(types: readonly string[]): string[] {
    const carrying = [...this.#channels].filter(([, channel]) => channel?.types.some((type) => types.includes(type)));
    return carrying.map(([name]) => name);
  }

  /** Takes a channel out again, without an answer. */
  drop(name: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    this.#channels.delete(name);
    this.#giveBack(channel);
    for (const type of channel?.types ?? []) {
      const subscription = this.#types.get(type);
      if (subscription === undefined) continue;
      subscription.channels -= 1;
      if (subscription.channels > 0) continue;
      this.pause(subscription);
      this.#types.delete(type);
    }
    this.#replays.prune();
  }

  dropFiltered({ channel, id }: FilteredSubscription): void {
    if (this.#filtered.take(channel.name, id)) this.#giveBack(null);
  }

  async #follow(text: string): Promise<void> {
    try {
      const frame = parseFrame(text);
      if (frame.action === "ping") this.send(toText({ type: "pong" }));
      else if (frame.action === "subscribe") await this.#subscribe(frame);
      else this.#unsubscribe(frame.channel, frame.id ?? null);
    } catch (thrown) {
      if (thrown instanceof FrameError) this.send(errorText(thrown));
      else this.fail(thrown);
    }
  }

  async #subscribe(frame: ClientFrame & { action: "subscribe" }): Promise<void> {
    const { channel: name, since = null, filter = null, id = null } = frame;
    const channel = parseKnown(name);
    const { collection } = channel;
    const isHeld = this.#filtered.get(name, id) !== undefined || (id === null && this.#channels.has(name));
    if (!isHeld && this.#channels.size + this.#filtered.size >= MAX_SUBSCRIPTIONS)
      throw new FrameError(
        "subscription_limit",
        `A socket holds at most ${MAX_SUBSCRIPTIONS} channels; unsubscribe from one first.`,
        { channel: name, id },
      );
    if (id === null) this.#refuseOverlap(name, channel, filter);
    if (filter !== null && collection === null)
      throw new FrameError("invalid_filter", `"${name}" is not about records, and takes no filter.`, name);
    const seq = since === null ? null : await this.#seqOf(since, { channel: name, id }, collection);
    if (!this.isOpen) return;
    if (filter === null) this.#hear(name, collection, seq);
    else this.#hearFiltered({ name, id, text: filter }, collection, seq);
  }

  /** @throws FrameError `invalid_filter`. */
  #refuseOverlap(name: string, channel: Channel, filter: string | null): void {
    this.#filtered.refuseOverlap(name, channel);
    if (filter === null) return;
    const other = this.channelsOf(channel.types).find((held) => held !== name);
    if (other !== undefined) throw overlap(name, other);
  }

  #hear(name: string, collection: Channel["collection"], seq: number | null): void {
    // Without a filter, the channel takes the place of the same one with a filter.
    if (this.#filtered.take(name, null)) this.#giveBack(null);
    this.#take(name);
    // Events of a collection that is gone are for admins.
    const isSilent = !this.#feed.exists(collection) && (seq === null || !isAdmin(this.#listener));
    const subscriptions = isSilent ? [] : this.#hold(name, seq);
    this.send(replyText("subscribed", name, null));
    if (seq !== null && !isSilent) this.#replays.add({ channel: name, since: seq, subscriptions });
  }

  /** Another filter takes the place of the one before. */
  #hearFiltered(
    { name, id, text }: { name: string; id: string | null; text: string },
    collection: Channel["collection"],
    seq: number | null,
  ): void {
    let subscription = this.#filtered.get(name, id);
    if (subscription?.text !== text) {
      subscription = this.#filtered.make({ channel: name, id, text, since: seq ?? this.#feed.seq });
      if (this.#filtered.take(name, id)) this.#giveBack(null);
      if (id === null) this.drop(name);
      try {
        this.#takeRoom(name);
      } catch (thrown) {
        this.#filtered.end(subscription);
        throw thrown;
      }
      this.#filtered.add(subscription);
      if (seq === null) subscription.begin();
    }
    this.send(replyText("subscribed", name, id));
    if (seq === null) return;
    // Nobody writes events of a collection that is not there.
    if (this.#feed.exists(collection)) subscription.replay(seq);
    else subscription.begin();
  }

  /** Where a replay starts. @throws FrameError `resume_gap`. */
  async #seqOf(since: string, wanted: FrameSubject, collection: Channel["collection"]): Promise<number | null> {
    await this.#pace.turn();
    const seq = await this.#feed.seqOf(since);
    if (seq === null || this.#feed.isClosedAfter(seq, this.#listener, collection)) throw gapError(wanted, since);
    return seq;
  }

  #take(name: string): void {
    if (this.#channels.has(name)) return;
    this.#takeRoom(name);
    this.#channels.set(name, null);
  }

  #takeRoom(name: string): void {
    const full = this.#feed.channels.take(this.#address);
    if (full !== null) throw new FrameError("subscription_limit", fullText[full], name);
  }

  #giveBack(channel: NamedChannel | null): void {
    this.#feed.channels.giveBack(this.#address);
    if (channel !== null) this.#feed.channels.release(channel);
  }

  /**
   * Holds a channel's types. Those that are new are live from here on, unless a replay is to bring them up to date
   * first.
   */
  #hold(name: string, since: number | null): TypeSubscription[] {
    const held = this.#channels.get(name) ?? null;
    const channel = held ?? this.#feed.channels.hold(name);
    if (held === null) this.#channels.set(name, channel);
    return channel.types.map((type) => {
      let subscription = this.#types.get(type);
      if (subscription === undefined) {
        subscription = new TypeSubscription(type, channel, since ?? this.#feed.seq);
        this.#types.set(type, subscription);
        if (since === null) this.goLive(subscription);
      }
      if (held === null) subscription.channels += 1;
      return subscription;
    });
  }

  #unsubscribe(name: string, id: string | null): void {
    parseKnown(name);
    if (id === null) this.drop(name);
    if (this.#filtered.take(name, id)) this.#giveBack(null);
    this.send(replyText("unsubscribed", name, id));
  }
}
