/**
 * The subscriptions of one socket that have a filter, by channel and id. Those without an id share the socket's events with its other
 * channels, so none of them may carry types that another one carries: an event would mean two things at once.
 */
import type { Channel } from "@socle/protocol";
import { FilteredSubscription, type SubscribedSocket } from "./filtered-subscription.ts";
import { FrameError } from "./frames.ts";
import type { Feed } from "./types.ts";

function keyOf(channel: string, id: string | null): string {
  return id === null ? channel : `${channel} ${id}`;
}

export class FilteredSubscriptions {
  readonly #socket: SubscribedSocket;
  readonly #feed: Feed;
  readonly #byKey = new Map<string, FilteredSubscription>();

  constructor(socket: SubscribedSocket, feed: Feed) {
    this.#socket = socket;
    this.#feed = feed;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(channel: string, id: string | null): FilteredSubscription | undefined {
    return this.#byKey.get(keyOf(channel, id));
  }

  /** A subscription that hears nothing yet, and is not among the others. @throws FrameError `invalid_filter`, `filter_limit`. */
  make(wanted: { channel: string; id: string | null; text: string; since: number }): FilteredSubscription {
    const { channel: name, id } = wanted;
    const channel = this.#feed.channels.hold(name);
    try {
      return new FilteredSubscription({ ...wanted, channel }, this.#socket, this.#feed);
    } catch (thrown) {
      this.#feed.channels.release(channel);
      if (!(thrown instanceof FrameError)) throw thrown;
      const { position = null } = thrown.subject;
      throw new FrameError(thrown.code, thrown.message, { channel: name, id, position });
    }
  }

  add(subscription: FilteredSubscription): void {
    this.#byKey.set(keyOf(subscription.channel.name, subscription.id), subscription);
  }

  /** Takes a subscription out and ends it, if it is there. */
  take(channel: string, id: string | null): boolean {
    const subscription = this.get(channel, id);
    if (subscription === undefined) return false;
    this.#byKey.delete(keyOf(channel, id));
    this.end(subscription);
    return true;
  }

  /** Ends a subscription that `make` has made. */
  end(subscription: FilteredSubscription): void {
    subscription.end();
    this.#feed.channels.release(subscription.channel);
  }

  /** Refuses a channel without an id that shares types with another one here. @throws FrameError `invalid_filter`. */
  refuseOverlap(name: string, channel: Pick<Channel, "types">): void {
    for (const subscription of this.#byKey.values())
      if (subscription.id === null && subscription.channel.name !== name && subscription.overlaps(channel))
        throw overlap(name, subscription.channel.name);
  }

  /** The caller of the socket is about to change. Answers how the subscriptions go on once it has. */
  suspend(): () => void {
    const all = [...this.#byKey.values()];
    for (const subscription of all) subscription.suspend();
    return () => {
      for (const subscription of all) subscription.resume();
    };
  }

  /** The socket ends. Answers how many subscriptions it had. */
  clear(): number {
    const { size } = this.#byKey;
    for (const subscription of this.#byKey.values()) this.end(subscription);
    this.#byKey.clear();
    return size;
  }
}

export function overlap(name: string, other: string): FrameError {
  const message = `"${other}" is held, and carries events of "${name}". Where one of two such channels has a filter, give it an "id" of its own.`;
  return new FrameError("invalid_filter", message, { channel: name });
}
