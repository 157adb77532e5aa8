/** The feed of a client while the code of the feed is loaded: what is opened meanwhile is opened at the feed that comes. */
import type { ConnectionState } from "./connection.ts";
import type { ChannelFeature, Feed, Subscribe } from "./feed.ts";
import { Late, lateRoom } from "./late.ts";
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
  readonly #late: Late<Feed>;

  /** @param channels of the feed that comes; undefined for a feed without channels. */
  constructor(coming: Promise<Feed>, channels: ChannelFeature | undefined) {
    const late = new Late(coming);
    this.#late = late;
    if (channels) this.subscribe = (...given) => late.open((feed) => feed.subscribe?.(...given) ?? (() => undefined));
    late.open((feed) => feed.connection.subscribe((state) => this.connection.set(state)));
  }

  query(query: LiveQuery, listener: NewsListener): () => void {
    return this.#late.open((feed) => feed.query(query, listener));
  }

  room(asked: RoomJoin, listener: RoomListener): RoomHandle {
    return lateRoom(this.#late, asked, (feed, frame) => feed.room(frame, listener));
  }

  reconnect(): void {
    // A feed that comes connects as the caller of that moment.
    this.#late.part?.reconnect();
  }

  close(): void {
    this.#late.open((feed) => {
      feed.close();
      return () => undefined;
    });
  }
}
