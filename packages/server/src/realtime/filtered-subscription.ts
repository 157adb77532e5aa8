/**
 * A subscription with a filter: a channel of one socket, heard through a filter. It does not join the topics of its types; its events are
 * sent to it alone, and carry its id. Its replay brings what it has missed, by the same filter.
 */
import type { Listener } from "./audience.ts";
import type { NamedChannel } from "./channel-table.ts";
import type { Filter } from "./filter.ts";
import type { FilterHold, FilterListener } from "./filter-table.ts";
import { errorText, FrameError } from "./frames.ts";
import { Replays } from "./replays.ts";
import type { Telling } from "./tellings.ts";
import { TypeSubscription } from "./type-subscription.ts";
import type { Feed, Replayed } from "./types.ts";

/** A subscription that a frame asks for. */
export interface WantedSubscription {
  readonly channel: NamedChannel;
  readonly id: string | null;
  /** The filter. */
  readonly text: string;
  /** The seq after which it hears events. */
  readonly since: number;
}

/** The socket of a subscription. */
export interface SubscribedSocket {
  readonly listener: Listener;
  send(text: string): void;
  drainedBelow(bytes: number): Promise<void>;
  /** Takes the subscription out, without an answer. */
  dropFiltered(subscription: FilteredSubscription): void;
  fail(thrown: unknown): void;
}

export class FilteredSubscription implements Replayed, FilterListener {
  readonly channel: NamedChannel;
  readonly id: string | null;
  readonly text: string;
  readonly #socket: SubscribedSocket;
  readonly #feed: Feed;
  readonly #types: ReadonlyMap<string, TypeSubscription>;
  readonly #replays: Replays;
  #hold: FilterHold;
  /** Whether the hold is to be released. */
  #holds = true;
  #isEnded = false;
  /** The types that were live before the caller of the socket began to change. */
  #suspended: TypeSubscription[] = [];

  /**
   * A subscription that hears nothing before `begin` or `replay`.
   * @param since the seq after which it is to hear events.
   * @throws FrameError `invalid_filter`, `filter_limit`.
   */
  constructor(wanted: WantedSubscription, socket: SubscribedSocket, feed: Feed) {
    const { channel, id, text, since } = wanted;
    this.channel = channel;
    this.id = id;
    this.text = text;
    this.#socket = socket;
    this.#feed = feed;
    this.#types = new Map(channel.types.map((type) => [type, new TypeSubscription(type, channel, since)]));
    this.#hold = this.#holdFor(socket.listener);
    this.#replays = new Replays(this, feed);
  }

  get listener(): Listener {
    return this.#socket.listener;
  }

  get filter(): Filter {
    return this.#hold.filter;
  }

  /** The subscription hears what happens from now on. */
  begin(): void {
    for (const subscription of this.#types.values()) this.goLive(subscription);
  }

  /** The subscription hears the events after a seq, then the live ones. */
  replay(since: number): void {
    this.#replays.add({ channel: this.channel.name, since, subscriptions: [...this.#types.values()] });
  }

  /** Whether some of its types are types of a channel. */
  overlaps({ types }: Pick<NamedChannel, "types">): boolean {
    return types.some((type) => this.#types.has(type));
  }

  tell(type: string, telling: Telling): void {
    if (this.#types.get(type)?.isLive === true) this.send(telling.frame(type, this.listener, this.id));
  }

  refuse({ code, message, subject }: FrameError): void {
    const { position = null } = subject;
    this.send(errorText(new FrameError(code, message, { channel: this.channel.name, id: this.id, position })));
    this.#socket.dropFiltered(this);
  }

  /** The caller of the socket is about to change. */
  suspend(): void {
    this.#suspended = [...this.#types.values()].filter(({ isLive }) => isLive);
    for (const subscription of this.#suspended) this.pause(subscription);
    this.#release();
  }

  /** The caller of the socket has changed: the filter is the one for callers of their class. */
  resume(): void {
    try {
      this.#hold = this.#holdFor(this.listener);
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    this.#holds = true;
    for (const subscription of this.#suspended) this.goLive(subscription);
    this.#suspended = [];
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  drainedBelow(bytes: number): Promise<void> {
    return this.#socket.drainedBelow(bytes);
  }

  holds(subscription: TypeSubscription): boolean {
    return !this.#isEnded && this.#types.get(subscription.type) === subscription;
  }

  goLive(subscription: TypeSubscription): void {
    subscription.isLive = true;
    this.#hold.goLive(this);
  }

  pause(subscription: TypeSubscription): void {
    if (!subscription.isLive) return;
    subscription.isLive = false;
    subscription.to = this.#feed.seq;
    if (!this.#isLive) this.#hold.pause(this);
  }

  channelsOf(): string[] {
    return [this.channel.name];
  }

  drop(): void {
    this.#socket.dropFiltered(this);
  }

  fail(thrown: unknown): void {
    if (thrown instanceof FrameError) this.refuse(thrown);
    else this.#socket.fail(thrown);
  }

  /** Lets go of everything. */
  end(): void {
    for (const subscription of this.#types.values()) this.pause(subscription);
    this.#isEnded = true;
    this.#release();
    this.#replays.prune();
  }

  #release(): void {
    if (this.#holds) this.#hold.release();
    this.#holds = false;
  }

  get #isLive(): boolean {
    return [...this.#types.values()].some(({ isLive }) => isLive);
  }

  #holdFor(listener: Listener): FilterHold {
    return this.#feed.filters.hold({ collection: this.channel.collection ?? "", text: this.text, listener });
  }
}
