/** Live queries and optimistic changes of a client: `createClient({ live })`. */

import type { ErrorCode } from "@socle/protocol";
import { shaperOf } from "@socle/protocol/query";
import { offline, SocleError } from "./error.ts";
import { type ChannelFeature, type Feed, identityOf, OwnFeed } from "./feed.ts";
import { LateFeed, sharedScript } from "./late-feed.ts";
import type { LiveQuery, LiveWhole } from "./live-frames.ts";
import { changed, type LiveNews } from "./live-queries.ts";
import type {
  Live,
  LiveFeature,
  LiveOptions,
  LiveState,
  LiveStatus,
  LiveValue,
  OptimisticWrite,
  Watched,
  WatchedList,
} from "./live-types.ts";
import { callSafely, tell } from "./observable.ts";
import { type Overlay, type Shown, withOverlay } from "./overlay.ts";

import type { Listener, SubscribeOptions } from "./realtime.ts";
import { type JoinOptions, Room } from "./room.ts";
import { socketConstructor } from "./socket.ts";
import type { Answered, Transport } from "./transport.ts";

type State = LiveState & LiveValue;

/** The result of a query, for all listeners of equal queries. */
class Window {
  readonly listeners = new Set<(state: State) => void>();
  /** The query of a list; null for a server query. */
  readonly list: WatchedList | null;
  status: LiveStatus = "loading";
  /** The position up to which the result is right. */
  seq = -1;
  stop: (() => void) | undefined;
  /** Whether the service has ended the query. */
  isOver = false;
  #result: LiveWhole | null = null;
  #error: SocleError | undefined;
  #state: State | null = null;
  /** A record that did not change stays the same object. */
  readonly #shaped = new WeakMap<object, Shown>();
  readonly #overlay: (items: readonly Shown[]) => readonly Shown[];

  /** @param overlay adds the optimistic changes to the items of the service. */
  constructor(list: WatchedList | null, overlay: (items: readonly Shown[]) => readonly Shown[]) {
    this.list = list;
    this.#overlay = overlay;
  }

  /** The items of the service, in the shape of the query. */
  get items(): readonly Shown[] {
    const { items = [] } = (this.#result ?? {}) as { items?: readonly Shown[] };
    const shape = this.list && shaperOf(this.list.parts);
    return items.map((item) => {
      const known = this.#shaped.get(item) ?? shape?.(item) ?? item;
      this.#shaped.set(item, known);
      return known;
    });
  }

  get state(): State {
    this.#state ??= this.#read();
    return this.#state;
  }

  #read(): State {
    const { type: _type, id: _id, seq: _seq, ...result } = this.#result ?? ({} as Partial<LiveWhole>);
    return {
      ...result,
      status: this.status,
      position: this.seq,
      items: this.#result === null ? [] : this.#overlay(this.items),
      ...(this.#error && { error: this.#error }),
    };
  }

  /** @param url of the service, which is not reached when the connection is lost before a result. */
  take(news: LiveNews, url: string): void {
    this.#error = undefined;
    this.isOver = news.type === "error";
    if (news.type === "lost") {
      this.status = "offline";
      if (this.#result === null) this.#fail(offline(news, url));
    } else if (news.type === "reset") {
      this.status = "loading";
      this.#result = null;
      this.seq = -1;
    } else if (news.type === "error") {
      this.#fail(new SocleError(null, news as typeof news & { code: ErrorCode }));
    } else {
      this.seq = Math.max(this.seq, news.seq);
      this.status = "live";
      if (news.type === "result") this.#result = news;
      else if (news.type === "change" && this.#result !== null) this.#result = changed(this.#result, news);
    }
  }

  #fail(error: SocleError): void {
    this.status = "error";
    this.#error = error;
  }

  /** Tells the listeners the present state. */
  tell(): void {
    this.#state = null;
    tell(this.listeners, this.state);
  }

  /** Whether the result does not have a change yet. */
  isBefore({ collection, position }: Overlay): boolean {
    return this.list?.collection === collection && (position === null || this.seq < position);
  }
}

export class LiveClient implements Live {
  readonly feed: Feed;
  readonly transport: Transport;
  /** By the text of the query. */
  readonly #windows = new Map<string, Window>();
  readonly #overlays = new Set<Overlay>();
  #lastNew = 0;

  constructor(feed: Feed, transport: Transport) {
    this.feed = feed;
    this.transport = transport;
  }

  get connection(): Feed["connection"] {
    return this.feed.connection;
  }

  subscribe(_channel: string, _listener: Listener, _options: SubscribeOptions): () => void {
    throw new Error("This client has no live: createClient({ live: liveWithChannels })");
  }

  watch(watched: Watched | WatchedList, listener: (state: State) => void, { signal }: LiveOptions = {}): () => void {
    const list = "parts" in watched ? watched : null;
    const query = watched.asked();
    const key = JSON.stringify(query);
    const known = this.#windows.get(key);
    // A query that has ended is asked anew.
    if (known?.isOver) known.stop?.();
    const window = known && !known.isOver ? known : this.#open(key, query, list);
    window.listeners.add(listener);
    callSafely(() => listener(window.state));
    const stop = (): void => {
      signal?.removeEventListener("abort", stop);
      window.listeners.delete(listener);
      if (window.listeners.size > 0 || this.#windows.get(key) !== window) return;
      this.#windows.delete(key);
      window.stop?.();
      this.#prune();
    };
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop);
    return stop;
  }

  room(options: JoinOptions & { room: string; key: string }): Room {
    return new Room(options, (frame, listener) => this.feed.room(frame, listener));
  }

  async write({ collection, id, values }: OptimisticWrite, send: () => Promise<Answered<unknown>>): Promise<unknown> {
    this.#lastNew += 1;
    const shown = values && { ...values };
    const overlay: Overlay = { collection, id: id ?? `new_${this.#lastNew}`, values: shown, position: null };
    if (id === null)
      overlay.unrelated = new Set(this.#windowsOf(collection).flatMap(({ items }) => items.map((item) => item["id"])));
    this.#overlays.add(overlay);
    this.#tell(collection);
    try {
      const { value, position } = await send();
      if (values !== null) {
        const record = value as Shown;
        overlay.id = String(record["id"]);
        overlay.values = record;
        overlay.unrelated = undefined;
        for (const { unrelated } of this.#overlays) unrelated?.add(overlay.id);
      }
      // A service of an earlier version says no position: the next result has the change.
      overlay.position = position ?? 0;
      return value;
    } catch (thrown) {
      this.#overlays.delete(overlay);
      throw thrown;
    } finally {
      this.#tell(collection);
      this.#prune();
    }
  }

  close(): void {
    this.feed.close();
    this.#windows.clear();
  }

  #open(key: string, query: LiveQuery, list: WatchedList | null): Window {
    const window = new Window(list, (items) => this.#withOverlays(items, window));
    this.#windows.set(key, window);
    window.stop = this.feed.query(query, (news) => {
      window.take(news, this.transport.baseUrl);
      this.transport.heard(window.seq);
      window.tell();
      this.#prune();
    });
    return window;
  }

  #withOverlays(items: readonly Shown[], window: Window): readonly Shown[] {
    const parts = window.list?.parts;
    if (parts === undefined || parts.group || parts.aggregate) return items;
    const taken = new Set<unknown>();
    return [...this.#overlays]
      .filter((each) => window.isBefore(each))
      .reduce((shown, each) => withOverlay(shown, each, { parts, known: this.#known(each), taken }), items);
  }

  /** The record of a change in any window that shows whole records. */
  #known({ collection, id }: Overlay): Shown | undefined {
    return this.#windowsOf(collection)
      .filter(({ list }) => !list?.parts.fields)
      .flatMap(({ items }) => items)
      .find((item) => item["id"] === id);
  }

  #windowsOf(collection: string): Window[] {
    return [...this.#windows.values()].filter(({ list }) => list?.collection === collection);
  }

  #tell(collection: string): void {
    for (const window of this.#windowsOf(collection)) window.tell();
  }

  /** Forgets the changes that every window has reached. */
  #prune(): void {
    const windows = [...this.#windows.values()].filter(({ status }) => status !== "error");
    for (const overlay of this.#overlays)
      if (overlay.position !== null && !windows.some((window) => window.isBefore(overlay)))
        this.#overlays.delete(overlay);
  }
}

/** Makes the feature of a client, with or without channels. */
export function liveFeature(channels?: ChannelFeature, Client = LiveClient): LiveFeature {
  return (transport, { webSocket, worker }) => {
    const parts = { baseUrl: transport.baseUrl, identity: identityOf(transport), channels };
    const socket = socketConstructor(webSocket);
    const own = (): Feed => new OwnFeed({ ...parts, webSocket: socket });
    const script = webSocket === undefined && sharedScript(parts.baseUrl, worker);
    // Without the code or the script of the worker, a tab has a socket of its own.
    const shared = (from: string | URL): Promise<Feed> =>
      import("./shared.ts").then(({ sharedFeed }) => sharedFeed(from, { ...parts, own }), own);
    const feed = script ? new LateFeed(shared(script), channels) : own();
    const { user } = transport.session;
    let before = user.get();
    user.subscribe((now) => {
      // The connection waits for a session that is still read from a store, and so is of this user already.
      if (before !== undefined) feed.reconnect();
      before = now;
    });
    return new Client(feed, transport);
  };
}

/** For `createClient({ live })`: live queries and optimistic changes. */
export const live: LiveFeature = /* @__PURE__ */ liveFeature();
