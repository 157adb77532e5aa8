/**
 * A subscription: the event types that one socket hears together, of its channels without a filter, or of one channel
 * through a filter. Each type is
 *
 * - **paused**: nothing of the type is sent;
 * - **replaying**: a replay sends the missed events from the log;
 * - **live**: each event is sent as it happens, by the topics of the listener, or by the filter.
 */
import type { Channel } from "@socle/protocol";
import type { Listener } from "./audience.ts";
import type { Feed } from "./feed.ts";
import type { FilterOfOne } from "./filter.ts";
import type { FilterHold, FilterListener, Outside } from "./filter-table.ts";
import { FrameError } from "./frames.ts";
import type { OwnedState } from "./reader-table.ts";
import { type HeardType, type Replayed, Replays } from "./replays.ts";

/** The socket of a subscription. */
export interface SubscribedSocket {
  readonly listener: Listener;
  /** The caller whose share of the work is counted: a user id or an address. */
  readonly caller: string;
  send(text: string): void;
  /** Resolves when less than `bytes` wait to be sent, or when the socket is gone. */
  drainedBelow(bytes: number): Promise<void>;
  /** Joins or leaves the topics of a type. */
  topics(type: string, change: "join" | "leave"): void;
  /** The log does not hold the next events: says so, and gives up the channels of these types. */
  breakOff(subscription: Subscription, types: readonly string[]): void;
  /** The subscription has ended with an error for its client. */
  refuse(subscription: Subscription, error: FrameError): void;
  fail(thrown: unknown): void;
}

/** A filter's text, and the collection whose records the filter is about. */
export interface FilterText {
  readonly collection: string;
  readonly text: string;
}

export class Subscription implements Replayed, FilterListener {
  /** The id in the frames of its events, or null. */
  readonly id: string | null;
  readonly filter: FilterText | null;
  readonly #socket: SubscribedSocket;
  readonly #feed: Feed;
  readonly #types = new Map<string, HeardType>();
  readonly #replays: Replays;
  #hold: FilterHold | null;
  /**
   * The types that were live before the caller of the socket began to change, and the seq up to which the events of
   * these types were told.
   */
  #suspended: { types: HeardType[]; told: number } | null = null;

  /** @throws FrameError `invalid_filter`, `filter_limit`. */
  constructor(socket: SubscribedSocket, feed: Feed, wanted: { id: string | null; filter: FilterText | null }) {
    this.id = wanted.id;
    this.filter = wanted.filter;
    this.#socket = socket;
    this.#feed = feed;
    this.#hold = this.#makeHold();
    this.#replays = new Replays(this, feed);
  }

  get listener(): Listener {
    return this.#socket.listener;
  }

  get caller(): string {
    return this.#socket.caller;
  }

  filterOfOne(outside: Outside): FilterOfOne | null {
    const hold = this.#hold;
    if (hold === null) return null;
    return {
      columns: (state: OwnedState) => hold.filter.columns(state),
      holds: (state: OwnedState) => hold.holds(state, this.#socket, outside),
    };
  }

  /** Takes a channel's types, paused. @param since the seq after which the types are to be heard. */
  add({ types, collection }: Channel, since: number): void {
    for (const type of types) {
      const heard = this.#types.get(type);
      if (heard !== undefined) heard.channels += 1;
      else
        this.#types.set(type, {
          type,
          collection,
          channels: 1,
          isLive: false,
          from: since,
          to: since,
          liveAfter: since,
        });
    }
  }

  /** Gives up a channel's types, except types of other channels. */
  remove({ types }: Channel): void {
    for (const heard of this.#of(types)) {
      heard.channels -= 1;
      if (heard.channels > 0) continue;
      this.pause(heard);
      this.#types.delete(heard.type);
    }
    this.#replays.prune();
  }

  /** The types go live, except types that a replay is going to bring to their live events. */
  begin(types: readonly string[] = [...this.#types.keys()]): void {
    for (const heard of this.#of(types)) if (!heard.isLive && !this.#replays.brings(heard)) this.goLive(heard);
  }

  /** The types are replayed from a seq on, and go live then. */
  replay(since: number, types: readonly string[] = [...this.#types.keys()]): void {
    const heard = this.#of(types);
    for (const each of heard) this.pause(each);
    this.#replays.add({ since, types: heard });
  }

  carries(types: readonly string[]): boolean {
    return types.some((type) => this.#types.has(type));
  }

  /** Whether a change of a type at a seq is sent as it happens. */
  hears(type: string, seq: number): boolean {
    const heard = this.#types.get(type);
    return heard?.isLive === true && seq > heard.liveAfter;
  }

  holds(heard: HeardType): boolean {
    return this.#types.get(heard.type) === heard;
  }

  goLive(heard: HeardType): void {
    if (heard.isLive) return;
    heard.isLive = true;
    heard.liveAfter = this.#feed.seq;
    if (this.#hold !== null) {
      this.#hold.goLive(this);
      return;
    }
    this.#socket.topics(heard.type, "join");
    this.#feed.join(heard.type, heard.collection);
  }

  pause(heard: HeardType): void {
    if (!heard.isLive) return;
    heard.to = this.#told(heard);
    heard.isLive = false;
    if (this.#hold === null) {
      this.#socket.topics(heard.type, "leave");
      this.#feed.leave(heard.type);
    } else if (![...this.#types.values()].some(({ isLive }) => isLive)) {
      this.#hold.pause(this);
    }
  }

  /** The caller of the socket is about to change. */
  suspend(): void {
    const types = [...this.#types.values()].filter(({ isLive }) => isLive);
    const told = Math.min(...types.map((heard) => this.#told(heard)));
    for (const heard of types) this.pause(heard);
    this.#hold?.release();
    this.#hold = null;
    this.#suspended = { types, told };
  }

  /** The caller of the socket has changed: the filter is now that of the new caller's class. */
  resume(): void {
    const { types, told } = this.#suspended ?? { types: [], told: 0 };
    this.#suspended = null;
    try {
      this.#hold = this.#makeHold();
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    if (told < this.#feed.seq) this.#replays.add({ since: told, types });
    else for (const heard of types) this.goLive(heard);
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  drainedBelow(bytes: number): Promise<void> {
    return this.#socket.drainedBelow(bytes);
  }

  breakOff(types: readonly string[]): void {
    this.#socket.breakOff(this, types);
  }

  fail(thrown: unknown): void {
    if (thrown instanceof FrameError && this.filter !== null) this.#socket.refuse(this, thrown);
    else this.#socket.fail(thrown);
  }

  /** Lets go of everything. */
  end(): void {
    for (const heard of this.#types.values()) this.pause(heard);
    this.#types.clear();
    this.#hold?.release();
    this.#hold = null;
    this.#replays.prune();
  }

  #of(types: readonly string[]): HeardType[] {
    return types.flatMap((type) => this.#types.get(type) ?? []);
  }

  /** The seq up to which a live type's events were sent. */
  #told({ collection }: HeardType): number {
    const next = this.#hold === null ? this.#feed.nextSeq(collection, this.listener) : this.#hold.nextSeq;
    return next === null ? this.#feed.seq : next - 1;
  }

  #makeHold(): FilterHold | null {
    const { filter } = this;
    if (filter === null) return null;
    return this.#feed.filters.hold({ ...filter, listener: this.listener }, this.caller);
  }
}
