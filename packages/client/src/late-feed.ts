/** The feed of a client while the code of the feed is loaded: what is opened meanwhile is opened at the feed that comes. */
import type { ConnectionState } from "./connection.ts";
import type { ChannelFeature, Feed, Subscribe } from "./feed.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { NewsListener } from "./live-queries.ts";
import { Observed } from "./observable.ts";
import type { RoomHandle, RoomJoin, RoomListener } from "./rooms.ts";

/** The parts of a browser that tell whether tabs can share a worker. */
interface Browser {
  readonly SharedWorker?: unknown;
  readonly location?: { readonly origin?: string };
}

/**
 * The script of the worker for the tabs of the page's origin; false for a runtime or a page without shared workers.
 * @param given by the application; by default the service's own script, which only a page of the service's origin may use.
 */
export function sharedScript(baseUrl: string, given: string | URL | false | undefined): string | URL | false {
  const { SharedWorker, location } = globalThis as Browser;
  if (SharedWorker === undefined) return false;
  return given ?? (location?.origin === new URL(baseUrl).origin && `${baseUrl}/_/client-worker.js`);
}

export class LateFeed implements Feed {
  readonly connection = new Observed<ConnectionState>("idle");
  readonly subscribe: Subscribe | undefined;
  readonly #openings = new Set<(feed: Feed) => void>();
  #feed: Feed | null = null;

  /** @param channels of the feed that comes; undefined for a feed without channels. */
  constructor(coming: Promise<Feed>, channels: ChannelFeature | undefined) {
    if (channels) this.subscribe = (...given) => this.#open((feed) => feed.subscribe?.(...given) ?? (() => undefined));
    void coming.then((feed) => {
      this.#feed = feed;
      feed.connection.subscribe((state) => this.connection.set(state));
      for (const open of this.#openings) open(feed);
    });
  }

  query(query: LiveQuery, listener: NewsListener): () => void {
    return this.#open((feed) => feed.query(query, listener));
  }

  room(asked: RoomJoin, listener: RoomListener): RoomHandle {
    let frame = asked;
    let handle: RoomHandle | undefined;
    const leave = this.#open((feed) => {
      handle = feed.room(frame, listener);
      return handle.leave;
    });
    return {
      send(action) {
        if (handle) handle.send(action);
        else if (action.action === "state") frame = { ...asked, state: action.state };
      },
      leave,
    };
  }

  reconnect(): void {
    this.#feed?.reconnect();
  }

  close(): void {
    this.#openings.clear();
    this.#feed?.close();
  }

  #open(open: (feed: Feed) => () => void): () => void {
    if (this.#feed) return open(this.#feed);
    let stop: (() => void) | undefined;
    const begin = (feed: Feed): void => {
      stop = open(feed);
    };
    this.#openings.add(begin);
    return () => {
      this.#openings.delete(begin);
      stop?.();
    };
  }
}
