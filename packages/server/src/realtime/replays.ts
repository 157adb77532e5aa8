import type { LoggedEvent } from "../events/index.ts";
import { nextTurn } from "../kernel/index.ts";
import type { Connection, TypeSubscription } from "./connection.ts";
import { errorText, eventText, FrameError } from "./frames.ts";
import type { Feed } from "./types.ts";

/** What a socket has missed on a channel and is to get before it hears the channel live. */
interface Replay {
  readonly channel: string;
  /** The place of the last event that was received. */
  since: number;
  subscriptions: readonly TypeSubscription[];
}

/** Places that one step looks at: it starts small, because payloads may be large, and grows while they are not. */
const firstWidth = 16;
const maxWidth = 1_000;
/** What a step should weigh, in characters. */
const stepSize = 64 * 1024;

/**
 * The replays of one socket, one after the other. Each goes through these phases:
 *
 * 1. **Pause.** Types of the channel that the socket hears live are paused, so that all their events come in order.
 * 2. **Backfill.** The log is read in short steps from `since` on. What the listener may hear now is sent, except for
 *    what it was sent before; the next step waits until the socket has taken the last.
 * 3. **Cut-over.** When a step ends where the log stands, the types go live in the same moment, before any other event
 *    can be sent: nothing is missed, nothing comes twice.
 */
export class Replays {
  readonly #connection: Connection;
  readonly #feed: Feed;
  #waiting: Replay[] = [];
  #isRunning = false;

  constructor(connection: Connection, feed: Feed) {
    this.#connection = connection;
    this.#feed = feed;
  }

  add(replay: Replay): void {
    const same = this.#waiting.find(({ channel }) => channel === replay.channel);
    if (same === undefined) {
      this.#waiting.push(replay);
    } else {
      // It keeps its turn, and starts early enough for both.
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
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#replay(next);
    } catch (thrown) {
      this.#waiting = [];
      this.#feed.fail(this.#connection, thrown);
    } finally {
      this.#isRunning = false;
    }
  }

  #held(subscriptions: readonly TypeSubscription[]): TypeSubscription[] {
    return subscriptions.filter((subscription) => this.#connection.holds(subscription));
  }

  async #replay({ channel, since, subscriptions }: Replay): Promise<void> {
    for (const subscription of this.#held(subscriptions)) this.#connection.pause(subscription);
    const start = Math.min(since, ...this.#held(subscriptions).map(({ to }) => to));
    let place = start;
    let width = firstWidth;
    while (true) {
      const held = this.#held(subscriptions);
      if (held.length === 0) return;
      const page = await this.#feed.page(
        place,
        width,
        held.map(({ type }) => type),
      );
      if (page === null) return this.#breakOff(channel, subscriptions);
      place = page.end;
      const weight = await this.#send(page.events, held);
      width = Math.max(1, Math.min(maxWidth, weight > stepSize ? Math.floor(width / 2) : width * 2));
      if (place >= this.#feed.place) break;
      await nextTurn();
    }
    this.#cutOver(subscriptions, start);
  }

  /** Sends what may be heard and was not sent before. Answers how much that was. */
  async #send(events: readonly LoggedEvent[], held: readonly TypeSubscription[]): Promise<number> {
    const byType = new Map(held.map((subscription) => [subscription.type, subscription]));
    let weight = 0;
    for (const event of events) {
      await this.#connection.drainedBelow(this.#feed.replayBuffer);
      const subscription = byType.get(event.type);
      if (subscription === undefined || !this.#connection.holds(subscription)) continue;
      const wasSent = event.seq > subscription.from && event.seq <= subscription.to;
      const { collection } = subscription.channel;
      if (wasSent || !this.#feed.mayHear(this.#connection.listener, event, collection)) continue;
      const text = eventText(event.toText());
      this.#connection.send(text);
      weight += text.length;
    }
    return weight;
  }

  #cutOver(subscriptions: readonly TypeSubscription[], start: number): void {
    for (const subscription of this.#held(subscriptions)) {
      subscription.from = Math.min(subscription.from, start);
      this.#connection.goLive(subscription);
    }
  }

  /** The log was trimmed faster than the socket took it. Types that other channels carry go on live. */
  #breakOff(channel: string, subscriptions: readonly TypeSubscription[]): void {
    const message = `The log no longer holds what comes next. Subscribe without "since" and read the data anew.`;
    this.#connection.send(errorText(new FrameError("resume_gap", message, channel)));
    this.#connection.drop(channel);
    for (const subscription of this.#held(subscriptions)) this.#connection.goLive(subscription);
  }
}
