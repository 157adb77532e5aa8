/** Replays of one socket: events that it missed, read from the log before its channels go live. */
import type { EventHead } from "../events/index.ts";
import { nextTurn } from "../kernel/index.ts";
import { errorText, eventText, FrameError } from "./frames.ts";
import { changeTypes } from "./tellings.ts";
import type { TypeSubscription } from "./type-subscription.ts";
import type { Feed, Replayed } from "./types.ts";

/** Events that a socket has missed on a channel and gets before it hears the channel live. */
interface Replay {
  readonly channel: string;
  /** The seq of the last event that was received. */
  since: number;
  subscriptions: readonly TypeSubscription[];
}

/** Events, by seq, that one step looks at. */
const width = 256;

/**
 * The replays of one socket, one after the other. Each goes through these phases:
 *
 * 1. **Pause.** Types of the channel that the socket hears live are paused, so that all their events come in order.
 * 2. **Backfill.** The log is read in short steps from `since` on. Events that the listener may hear now are sent,
 *    except those that were sent while it listened (under the rules of that moment). Each event waits until the socket
 *    has taken enough of those before.
 * 3. **Cut-over.** When a step ends where the log stands, the types go live in the same moment, before any other event
 *    can be sent: nothing is missed, nothing comes twice.
 */
export class Replays {
  readonly #connection: Replayed;
  readonly #feed: Feed;
  #waiting: Replay[] = [];
  #isRunning = false;

  constructor(connection: Replayed, feed: Feed) {
    this.#connection = connection;
    this.#feed = feed;
  }

  add(replay: Replay): void {
    const same = this.#waiting.find(({ channel }) => channel === replay.channel);
    if (same === undefined) {
      this.#waiting.push(replay);
    } else {
      // The earlier replay keeps its turn, and starts early enough for both.
      same.since = Math.min(same.since, replay.since);
      same.subscriptions = replay.subscriptions;
    }
    if (!this.#isRunning) void this.#run();
  }

  /** Forgets replays that nobody waits for any more. */
  prune(): void {
    this.#waiting = this.#waiting.filter(({ subscriptions }) => this.#held(subscriptions).length > 0);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#feed.replaying(1);
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#replay(next);
    } catch (thrown) {
      this.#waiting = [];
      this.#connection.fail(thrown);
    } finally {
      this.#isRunning = false;
      this.#feed.replaying(-1);
    }
  }

  #held(subscriptions: readonly TypeSubscription[]): TypeSubscription[] {
    return subscriptions.filter((subscription) => this.#connection.holds(subscription));
  }

  async #replay({ since, subscriptions }: Replay): Promise<void> {
    for (const subscription of this.#held(subscriptions)) this.#connection.pause(subscription);
    const start = Math.min(since, ...this.#held(subscriptions).map(({ to }) => to));
    let seq = start;
    while (true) {
      const held = this.#held(subscriptions);
      if (held.length === 0) return;
      const types = held.map(({ type }) => type);
      const page = await this.#feed.page(seq, width, this.#sourcesOf(held, types));
      if (page === null || !(await this.#send(page.events, held))) return this.#breakOff(types);
      seq = page.end;
      if (seq >= this.#feed.seq) break;
      await nextTurn();
    }
    this.#cutOver(subscriptions, start);
  }

  /** The types of the events that may be told as one of these: through a filter, an update may be told as a deletion. */
  #sourcesOf(held: readonly TypeSubscription[], types: readonly string[]): readonly string[] {
    const collection = held[0]?.channel.collection ?? null;
    return this.#connection.filter === null || collection === null ? types : changeTypes(collection);
  }

  /**
   * Sends what may be heard and was not sent before, one payload in memory at a time. Answers false when one of them
   * was trimmed meanwhile, or turned out not to be for this listener.
   */
  async #send(events: readonly EventHead[], held: readonly TypeSubscription[]): Promise<boolean> {
    const byType = new Map(held.map((subscription) => [subscription.type, subscription]));
    const collection = held[0]?.channel.collection ?? null;
    for (const head of events) {
      await this.#connection.drainedBelow(this.#feed.replayBuffer);
      // The role may have changed while the socket was drained.
      const { listener, filter, id } = this.#connection;
      const own = byType.get(head.type);
      if (own !== undefined && wasSent(head, own)) continue;
      // The read rule may have been widened since the replay began.
      if (this.#feed.isClosedAfter(head.seq - 1, listener, collection)) return false;
      // Through a filter, an event may also say that a record is another one's now.
      if (filter === null && !this.#feed.mayHear(listener, head, collection)) continue;
      const told = await this.#feed.replayed(head, listener, { collection, filter });
      if (told === "trimmed") return false;
      const subscription = told === null ? undefined : byType.get(told.type);
      if (told === null || subscription === undefined || wasSent(head, subscription)) continue;
      if (this.#connection.holds(subscription)) this.#connection.send(eventText(told.text, id));
    }
    return true;
  }

  #cutOver(subscriptions: readonly TypeSubscription[], start: number): void {
    for (const subscription of this.#held(subscriptions)) {
      subscription.from = Math.min(subscription.from, start);
      this.#connection.goLive(subscription);
    }
  }

  /**
   * The log was trimmed faster than the socket took it, or a rule was widened meanwhile: every channel that carries one
   * of the types has a gap.
   */
  #breakOff(types: readonly string[]): void {
    for (const channel of this.#connection.channelsOf(types)) {
      const message = 'The log no longer holds what comes next. Subscribe without "since" and read the data anew.';
      const { id } = this.#connection;
      this.#connection.send(errorText(new FrameError("resume_gap", message, { channel, id })));
      this.#connection.drop(channel);
    }
  }
}

/** Whether an event was sent while the socket listened to the type. */
function wasSent({ seq }: EventHead, { from, to }: TypeSubscription): boolean {
  return seq > from && seq <= to;
}
