/** Replays of a subscription: the events that its socket missed, read from the log before the types go live. */

import { nextTurn } from "../../base/kernel/index.ts";
import type { EventHead } from "../../store/events/index.ts";
import type { Listener } from "./audience.ts";
import type { Feed } from "./feed.ts";
import type { FilterOfOne } from "./filter.ts";
import type { Outside } from "./filter-table.ts";
import { eventText } from "./frames.ts";
import { changeTypes } from "./tellings.ts";
import type { EndTurn } from "./turns.ts";
import type { Told } from "./visibility.ts";

/** A type of a subscription. */
export interface HeardType {
  readonly type: string;
  readonly collection: string | null;
  /** How many channels of the subscription carry the type. */
  channels: number;
  isLive: boolean;
  /** The events after seq `from`, up to seq `to`, were sent while the type was live. */
  from: number;
  to: number;
  /** The seq after which the type is live. */
  liveAfter: number;
}

/** The subscription of a replay. */
export interface Replayed {
  readonly listener: Listener;
  /** The caller whose share of the work is counted: a user id or an address. */
  readonly caller: string;
  /** The id in the frames of its events, or null. */
  readonly id: string | null;
  /** The filter for the listener of this moment, or null. */
  filterOfOne(outside: Outside): FilterOfOne | null;
  send(text: string): void;
  /** Resolves when less than `bytes` wait to be sent, or when the socket is gone. */
  drainedBelow(bytes: number): Promise<void>;
  /** Whether the subscription still has the type of the replay. */
  holds(heard: HeardType): boolean;
  goLive(heard: HeardType): void;
  /** The log does not hold the next events, or the next events were closed to this listener. */
  breakOff(types: readonly string[]): void;
  fail(thrown: unknown): void;
}

/** Types that are paused, and the seq of the last event that was received. */
interface Replay {
  since: number;
  readonly types: readonly HeardType[];
}

/** Events, by seq, that a step looks at. */
const width = 256;

/**
 * The replays of a subscription, in their order. The log is read in short steps. Events that the listener may hear now
 * are sent, except events that were sent while their type was live, under the rules of that moment. Each event waits
 * until the socket has taken enough of the events before, and for a turn. When a step ends where the log stands, the
 * types go live in the same moment, before any other event can be sent: nothing is missed, nothing comes twice.
 */
export class Replays {
  readonly #subscription: Replayed;
  readonly #feed: Feed;
  #waiting: Replay[] = [];
  #running: Replay | null = null;
  #endTurn: EndTurn = () => undefined;

  constructor(subscription: Replayed, feed: Feed) {
    this.#subscription = subscription;
    this.#feed = feed;
  }

  add(replay: Replay): void {
    const names = ({ types }: Replay): string => types.map(({ type }) => type).join();
    const same = this.#waiting.find((each) => names(each) === names(replay));
    // The earlier replay keeps its turn, and starts early enough for both.
    if (same !== undefined) same.since = Math.min(same.since, replay.since);
    else this.#waiting.push(replay);
    if (this.#running === null) void this.#run();
  }

  /** Whether a replay is going to bring a type to its live events. */
  brings(heard: HeardType): boolean {
    return [this.#running, ...this.#waiting].some((replay) => replay?.types.includes(heard) === true);
  }

  /** Forgets replays whose types the subscription has given up. */
  prune(): void {
    this.#waiting = this.#waiting.filter(({ types }) => this.#held(types).length > 0);
  }

  async #run(): Promise<void> {
    this.#feed.replaying(1);
    try {
      while (true) {
        this.#running = this.#waiting.shift() ?? null;
        if (this.#running === null) break;
        await this.#replay(this.#running);
      }
    } catch (thrown) {
      this.#waiting = [];
      this.#running = null;
      this.#subscription.fail(thrown);
    } finally {
      this.#feed.replaying(-1);
    }
  }

  #held(types: readonly HeardType[]): HeardType[] {
    return types.filter((heard) => this.#subscription.holds(heard));
  }

  async #replay({ since, types }: Replay): Promise<void> {
    const start = Math.min(since, ...this.#held(types).map(({ to }) => to));
    let seq = start;
    while (true) {
      const held = this.#held(types);
      if (held.length === 0) return;
      const page = await this.#inTurn(async () => this.#feed.page(seq, width, this.#sourcesOf(held)));
      if (page === null || !(await this.#send(page.events, held)))
        return this.#subscription.breakOff(held.map(({ type }) => type));
      seq = page.end;
      if (seq >= this.#feed.seq) break;
      await nextTurn();
    }
    for (const heard of this.#held(types)) {
      heard.from = Math.min(heard.from, start);
      this.#subscription.goLive(heard);
    }
  }

  /** The logged types that may be told under the held types: through a filter, an update may be told as a deletion. */
  #sourcesOf(held: readonly HeardType[]): readonly string[] {
    const collection = held[0]?.collection ?? null;
    const isFiltered = this.#subscription.filterOfOne(this.#outside) !== null;
    return isFiltered && collection !== null ? changeTypes(collection) : held.map(({ type }) => type);
  }

  /**
   * Sends the events that may be heard and were not sent before, with a single payload in memory. Answers false when an
   * event was trimmed meanwhile, or is closed to this listener.
   */
  async #send(events: readonly EventHead[], held: readonly HeardType[]): Promise<boolean> {
    const byType = new Map(held.map((heard) => [heard.type, heard]));
    for (const head of events) {
      const own = byType.get(head.type);
      if (own !== undefined && wasSent(head, own)) continue;
      await this.#subscription.drainedBelow(this.#feed.replayBuffer);
      if (!(await this.#inTurn(() => this.#sendOne(head, byType)))) return false;
    }
    return true;
  }

  /** Sends an event, if the listener may hear it. Answers false as `#send` does. */
  async #sendOne(head: EventHead, byType: ReadonlyMap<string, HeardType>): Promise<boolean> {
    const { listener, id } = this.#subscription;
    const { epoch } = this.#feed;
    const told = await this.#told(head, byType).catch((thrown: unknown) => {
      if (epoch === this.#feed.epoch) throw thrown;
      return null;
    });
    // The role or the definitions have changed meanwhile.
    if (listener !== this.#subscription.listener || epoch !== this.#feed.epoch) return this.#sendOne(head, byType);
    if (told === "gap") return false;
    const heard = told === null ? undefined : byType.get(told.type);
    if (told === null || heard === undefined || wasSent(head, heard)) return true;
    if (this.#subscription.holds(heard)) this.#subscription.send(eventText(told.text, id));
    return true;
  }

  /** An event as the listener is told; null for nothing. `gap`: the event was trimmed, or is closed to this listener. */
  async #told(head: EventHead, byType: ReadonlyMap<string, HeardType>): Promise<Told | null | "gap"> {
    const { listener } = this.#subscription;
    const [first] = byType.values();
    const collection = first?.collection ?? null;
    const filter = this.#subscription.filterOfOne(this.#outside);
    // The read rule may have been widened since the replay began.
    if (this.#feed.isClosedAfter(head.seq - 1, listener, collection)) return "gap";
    // Through a filter, an event may also say that a record has another owner.
    if (filter === null && !this.#feed.mayHear(listener, head, collection)) return null;
    const told = await this.#feed.replayed(head, listener, { collection, filter });
    return told === "trimmed" ? "gap" : told;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { turns } = this.#feed;
    const { caller } = this.#subscription;
    this.#endTurn = turns.takeNow() ?? (await turns.take(caller));
    try {
      return await work();
    } finally {
      this.#endTurn();
    }
  }

  readonly #outside: Outside = async (work) => {
    this.#endTurn();
    try {
      return await work();
    } finally {
      this.#endTurn = await this.#feed.turns.take(this.#subscription.caller);
    }
  };
}

/** Whether an event was sent while its type was live. */
function wasSent({ seq }: EventHead, { from, to }: HeardType): boolean {
  return seq > from && seq <= to;
}
