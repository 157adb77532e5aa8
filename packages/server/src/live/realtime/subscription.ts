/**
 * A subscription: the event types that one socket hears together, of its channels without a filter about one
 * collection or about the service, or of one channel through a filter. Each type is
 *
 * - **paused**: nothing of the type is sent;
 * - **replaying**: a replay sends the missed events from the log, or is going to;
 * - **live**: each event is sent as it happens, by the topics of the listener, or by the listener's class.
 *
 * A replay reads the log in short steps. Events that the listener may hear now are sent, except events that were sent
 * before, under the rules of that moment. Each event waits until the socket has taken enough of the events before, and
 * for a turn. When a step ends where the log stands, the types go live in the same moment, before any other event can be
 * sent: nothing is missed, nothing comes twice.
 */
import { nextTurn } from "../../base/kernel/index.ts";
import type { EventHead } from "../../store/events/index.ts";
import type { Listener, LiveListener } from "./audience.ts";
import type { Feed } from "./feed.ts";
import type { FilterHold } from "./filter-table.ts";
import { eventText, FrameError } from "./frames.ts";
import type { OwnedState } from "./reader-table.ts";
import type { EndTurn } from "./turns.ts";
import type { ReplayedEvent } from "./visibility.ts";

export interface SubscribedSocket {
  readonly listener: Listener;
  /** The caller whose share of the work is counted: a user id or an address. */
  readonly caller: string;
  send(text: string): void;
  /** Resolves when less than `bytes` wait to be sent, or when the socket is gone. */
  drainedBelow(bytes: number): Promise<void>;
  /** Joins or leaves the topics of a type. */
  topics(type: string, change: "join" | "leave"): void;
  /** Replays without a filter go on one after the other. */
  replayInLine(replay: () => Promise<void>): void;
  /** An error ends the channels of the subscription that carry some of the types: says so, and gives up the channels. */
  refuse(subscription: Subscription, error: FrameError, types: readonly string[]): void;
  fail(thrown: unknown): void;
}

type SubscribedTo = Pick<LiveListener, "collection" | "filter" | "id">;

interface HeardType {
  readonly type: string;
  /** How many channels of the subscription carry the type. */
  channels: number;
  state: "paused" | "replaying" | "live";
  /** The seq after which a replay is to begin, or null. */
  since: number | null;
  /** The events after seq `from`, up to seq `to`, were sent. */
  from: number;
  to: number;
  /** The seq after which the type is live. */
  liveAfter: number;
}

const nothing: readonly HeardType[] = [];

export class Subscription implements LiveListener {
  readonly id: string | null;
  readonly collection: string | null;
  readonly filter: string | null;
  readonly #socket: SubscribedSocket;
  readonly #feed: Feed;
  /** A type once. A few types for a collection, at most the types of the service's channels. */
  #types: HeardType[] = [];
  #hold: FilterHold | null;
  #isReplaying = false;
  /** Ends the turn of the replay that is under way. */
  #endTurn: EndTurn | null = null;
  /** The types that were live before the caller of the socket began to change. */
  #suspended: readonly HeardType[] = nothing;

  /** @throws FrameError `invalid_filter`, `filter_limit`. */
  constructor(socket: SubscribedSocket, feed: Feed, { collection, filter, id }: SubscribedTo) {
    this.id = id;
    this.collection = collection;
    this.filter = filter;
    this.#socket = socket;
    this.#feed = feed;
    this.#hold = this.#makeHold();
  }

  get listener(): Listener {
    return this.#socket.listener;
  }

  /** Takes a channel's types, paused. @param since the seq after which the types are to be heard. */
  add(types: readonly string[], since: number): void {
    for (const type of types) {
      const heard = this.#heard(type);
      if (heard !== undefined) heard.channels += 1;
      else
        this.#types.push({ type, channels: 1, state: "paused", since: null, from: since, to: since, liveAfter: since });
    }
  }

  /** Gives up a channel's types, except types of other channels. */
  remove(types: readonly string[]): void {
    for (const heard of this.#of(types)) {
      heard.channels -= 1;
      if (heard.channels > 0) continue;
      this.#pause(heard);
      this.#types = this.#types.filter((each) => each !== heard);
    }
    if (this.#types.length > 0) return;
    this.#hold?.release();
    this.#hold = null;
  }

  /** The types go live, except types that a replay is going to bring to their live events. */
  begin(types: readonly string[]): void {
    for (const heard of this.#of(types)) if (heard.state === "paused") this.#goLive(heard);
  }

  /** The types are replayed from a seq on, and go live then. */
  replay(since: number, types: readonly string[] = this.#names()): void {
    for (const heard of this.#of(types)) {
      this.#pause(heard);
      heard.state = "replaying";
      heard.since = Math.min(since, heard.since ?? since);
    }
    if (this.#isReplaying) return;
    this.#isReplaying = true;
    if (this.filter === null) this.#socket.replayInLine(() => this.#replayAll());
    // Types that are replayed in the same turn are replayed together, in the order of the log.
    else void Promise.resolve().then(() => this.#replayAll());
  }

  hears(type: string, seq: number): boolean {
    const heard = this.#heard(type);
    return heard?.state === "live" && seq > heard.liveAfter;
  }

  /** The caller of the socket is about to change. */
  suspend(): void {
    this.#suspended = this.#types.filter(({ state }) => state === "live");
    for (const heard of this.#suspended) this.#pause(heard);
    this.#hold?.release();
    this.#hold = null;
  }

  /** The caller of the socket has changed: the filter is now that of the new caller's class. */
  resume(): void {
    try {
      this.#hold = this.#makeHold();
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    for (const heard of this.#suspended)
      if (heard.to < this.#feed.seq) this.replay(heard.to, [heard.type]);
      else this.#goLive(heard);
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  fail(thrown: unknown): void {
    if (thrown instanceof FrameError && this.filter !== null) this.#socket.refuse(this, thrown, this.#names());
    else this.#socket.fail(thrown);
  }

  #heard(type: string): HeardType | undefined {
    return this.#types.find((heard) => heard.type === type);
  }

  #of(types: readonly string[]): HeardType[] {
    return types.flatMap((type) => this.#heard(type) ?? []);
  }

  #names(): string[] {
    return this.#types.map(({ type }) => type);
  }

  #goLive(heard: HeardType): void {
    heard.state = "live";
    heard.liveAfter = this.#feed.seq;
    if (this.#hold !== null) this.#hold.listeners.live.add(this);
    else if (this.#feed.hasCollection(this)) this.#join(heard);
  }

  /** The collection of a subscription without a filter has been made. A type that is replayed joins after the replay. */
  appear(): void {
    for (const heard of this.#types) if (heard.state === "live") this.#join(heard);
  }

  #join({ type }: HeardType): void {
    this.#socket.topics(type, "join");
    this.#feed.enter(this);
  }

  #pause(heard: HeardType): void {
    if (heard.state !== "live") return;
    heard.to = this.#told(heard);
    heard.state = "paused";
    if (this.#hold === null) this.#socket.topics(heard.type, "leave");
    if (this.#types.some(({ state }) => state === "live")) return;
    if (this.#hold === null) this.#feed.leave(this);
    else this.#hold.listeners.live.delete(this);
  }

  /** The seq up to which the events of a live type were sent. */
  #told({ liveAfter }: HeardType): number {
    const next = this.#hold === null ? this.#feed.nextSeq(this) : this.#hold.listeners.nextSeq;
    return next === null ? this.#feed.seq : Math.max(liveAfter, next - 1);
  }

  #makeHold(): FilterHold | null {
    const { collection, filter: text, listener } = this;
    if (text === null || collection === null) return null;
    return this.#feed.filters.hold({ collection, text, listener }, this.#socket.caller);
  }

  async #replayAll(): Promise<void> {
    this.#feed.replaying(1);
    try {
      for (let due = this.#due(); due.length > 0; due = this.#due()) await this.#replayTypes(due);
    } catch (thrown) {
      this.fail(thrown);
    } finally {
      this.#feed.replaying(-1);
      this.#isReplaying = false;
    }
  }

  /** The types that the next replay brings to their live events: types that are to be heard from the same seq on. */
  #due(): HeardType[] {
    const waiting = this.#types.filter(({ since }) => since !== null);
    return waiting.filter(({ since }) => since === waiting[0]?.since);
  }

  async #replayTypes(due: readonly HeardType[]): Promise<void> {
    const start = Math.min(...due.map(({ since, to }) => Math.min(since ?? to, to)));
    for (const heard of due) heard.since = null;
    let seq = start;
    let held = due;
    while (true) {
      held = due.filter((heard) => this.#types.includes(heard));
      const types = held.map(({ type }) => type);
      if (held.length === 0) return;
      const page = await this.#inTurn(async () => this.#feed.page(seq, types, this));
      if (page === null || !(await this.#sendAll(page.events, held))) {
        const message = 'The log no longer holds what comes next. Subscribe without "since" and read the data anew.';
        return this.#socket.refuse(this, new FrameError("resume_gap", message), types);
      }
      seq = page.end;
      if (seq >= this.#feed.seq) break;
      await nextTurn();
    }
    for (const heard of held) {
      heard.from = Math.min(heard.from, start);
      heard.to = seq;
      if (heard.since === null && this.#types.includes(heard)) this.#goLive(heard);
    }
  }

  /** Sends events, one payload in memory at a time. Answers false if an event was trimmed, or is closed to the listener. */
  async #sendAll(events: readonly EventHead[], held: readonly HeardType[]): Promise<boolean> {
    const byType = new Map(held.map((heard) => [heard.type, heard]));
    for (const head of events) {
      const own = byType.get(head.type);
      if (own !== undefined && wasSent(head, own)) continue;
      await this.#socket.drainedBelow(this.#feed.replayBuffer);
      if (!(await this.#inTurn(() => this.#sendOne(head, byType)))) return false;
    }
    return true;
  }

  /** Sends an event, if the listener may hear it. Answers false as `#sendAll` does. */
  async #sendOne(head: EventHead, byType: ReadonlyMap<string, HeardType>): Promise<boolean> {
    const { listener, id } = this;
    const { epoch } = this.#feed;
    const told = await this.#toldOf(head).catch((thrown: unknown) => {
      if (epoch === this.#feed.epoch) throw thrown;
      return null;
    });
    // The role or the definitions have changed meanwhile.
    if (listener !== this.listener || epoch !== this.#feed.epoch) return this.#sendOne(head, byType);
    if (told === "gap") return false;
    const heard = told === null ? undefined : byType.get(told.type);
    if (told === null || heard === undefined || wasSent(head, heard)) return true;
    if (this.#types.includes(heard)) this.send(eventText(told.text, id));
    return true;
  }

  /** An event as the listener is told of the event now. */
  #toldOf(head: EventHead): Promise<ReplayedEvent> {
    const { collection, listener } = this;
    const hold = this.#hold;
    const one = { listener, caller: this.#socket.caller };
    const filter = hold && {
      columns: (state: OwnedState) => hold.filter.columns(state),
      holds: (state: OwnedState) => hold.filter.holds(state, one, (work) => this.#outside(work)),
    };
    return this.#feed.visibility.replayed(head, { listener, collection, filter });
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#endTurn = await this.#feed.turns.take(this.#socket.caller);
    try {
      return await work();
    } finally {
      this.#endTurn();
    }
  }

  /** Does work outside of the turn of the replay, and takes another turn after that. */
  async #outside<T>(work: () => Promise<T>): Promise<T> {
    this.#endTurn?.();
    try {
      return await work();
    } finally {
      this.#endTurn = await this.#feed.turns.take(this.#socket.caller);
    }
  }
}

function wasSent({ seq }: EventHead, { from, to }: HeardType): boolean {
  return seq > from && seq <= to;
}
