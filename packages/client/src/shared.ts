/** The shared feed: a worker holds the socket for all tabs of a browser (`SharedWorker`). */

import type { ConnectionState, Identity } from "./connection.ts";
import type { ChannelFeature, Feed, Opened, Subscribe } from "./feed.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { NewsListener } from "./live-queries.ts";
import { Observed } from "./observable.ts";
import type { RoomHandle, RoomJoin, RoomListener } from "./rooms.ts";
import { type Locks, type Port, sharedVersion, type TabMessage, type WorkerMessage } from "./shared-messages.ts";
import { onWake } from "./wake.ts";

type WorkerPort = Port<TabMessage, WorkerMessage>;
interface SharedWorkerLike {
  readonly port: WorkerPort;
  onerror: (() => void) | null;
}
/** The parts of a browser that sharing needs; the types of server runtimes do not have these parts. */
interface Browser {
  readonly SharedWorker?: new (url: string, options: { name: string; type: "module" }) => SharedWorkerLike;
  readonly navigator?: { readonly locks?: Locks };
}

/** A worker that does not answer within this time is not used. */
const answerWithinMs = 3_000;

/** The feed of a worker, which all tabs of the page's origin share; the feed of this tab alone where a page may not have the worker. */
export function sharedFeed(script: string | URL, options: SharedOptions): Feed {
  const { SharedWorker, navigator } = globalThis as Browser;
  if (SharedWorker === undefined || navigator?.locks === undefined) return options.own();
  try {
    const worker = new SharedWorker(String(script), { name: `socle ${sharedVersion}`, type: "module" });
    return new SharedFeed(worker, options);
  } catch {
    // A page may forbid workers.
    return options.own();
  }
}

/** The session of a token: tabs with tokens of a session share a socket. An API key has no claims. */
function sessionOf(bearer: string | null): string {
  const claims = bearer?.split(".")[1];
  if (claims === undefined) return bearer ?? "";
  return String(JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))).sid);
}

interface SharedOptions {
  readonly baseUrl: string;
  readonly identity: Identity;
  /** The feed of a tab without a worker. */
  readonly own: () => Feed;
  readonly channels: ChannelFeature | undefined;
}

/** The feed of the worker; the feed of this tab if the worker does not answer. */
class SharedFeed implements Feed {
  readonly connection = new Observed<ConnectionState>("idle");
  readonly subscribe: Subscribe | undefined;
  readonly #port: WorkerPort;
  readonly #options: SharedOptions;
  /** The tab holds the lock as long as the tab lives. */
  readonly #lock = `socle ${crypto.randomUUID()}`;
  readonly #opened = new Map<number, Opened>();
  #lastNumber = 0;
  /** Messages that come before the welcome are for an earlier session. */
  #isWelcome = false;
  #own: Feed | null = null;
  /** Ends the calls of `onWake`. */
  #sleep: (() => void) | undefined;
  /** The session with which the tab has greeted. */
  #session = "";

  constructor(worker: SharedWorkerLike, options: SharedOptions) {
    this.#port = worker.port;
    this.#options = options;
    this.subscribe = options.channels?.shared((make) => this.#open(make));
    const timer = setTimeout(() => this.#giveUp(), answerWithinMs);
    worker.onerror = () => this.#giveUp();
    worker.port.onmessage = ({ data }) => {
      clearTimeout(timer);
      void this.#receive(data);
    };
    const { navigator } = globalThis as Browser;
    void navigator?.locks?.request(this.#lock, () => {
      void this.#greet();
      return new Promise(() => undefined);
    });
  }

  query(query: LiveQuery, listener: NewsListener): () => void {
    return this.#open((n) => ({
      message: { type: "query", n, query },
      heard: (message) => {
        if (message.type === "news") listener(message.news);
      },
      openAt: (feed) => feed.query(query, listener),
    }));
  }

  room(asked: RoomJoin, listener: RoomListener): RoomHandle {
    let own: RoomHandle | undefined;
    const message = { type: "room" as const, n: 0, frame: asked };
    const stop = this.#open((n) => ({
      message: Object.assign(message, { n }),
      heard: (heard) => {
        if (heard.type === "roomNews") listener(heard.news);
      },
      openAt: (feed) => {
        own = feed.room(message.frame, listener);
        return own.leave;
      },
    }));
    return {
      send: (action) => {
        // After another greeting, the tab joins with the last state.
        if (action.action === "state") message.frame = { ...asked, state: action.state };
        if (own) own.send(action);
        else if (this.#isWelcome) this.#port.postMessage({ type: "roomAction", n: message.n, action });
      },
      leave: stop,
    };
  }

  /** The worker serves the other tabs as before, and this tab with the socket of the present session. */
  reconnect(): void {
    if (this.#own !== null) {
      this.#own.reconnect();
      return;
    }
    for (const { heard } of this.#opened.values()) heard({ type: "news", n: 0, news: { type: "reset" } });
    void this.#greet();
  }

  close(): void {
    this.#sleep?.();
    this.#sleep = undefined;
    this.#own?.close();
    for (const n of this.#opened.keys()) this.#port.postMessage({ type: "stop", n });
    this.#opened.clear();
  }

  async #greet(): Promise<void> {
    this.#isWelcome = false;
    const { baseUrl, identity } = this.#options;
    const bearer = await identity.bearer();
    // The feed of this tab alone tries again.
    if (bearer === undefined) return this.#giveUp();
    this.#session = sessionOf(bearer);
    this.#port.postMessage({ type: "hello", baseUrl, session: this.#session, lock: this.#lock });
  }

  #giveUp(): void {
    if (this.#isWelcome || this.#own !== null) return;
    const own = this.#options.own();
    this.#own = own;
    own.connection.subscribe((state) => this.connection.set(state));
    for (const opened of this.#opened.values()) opened.stop = opened.openAt(own);
  }

  /** Opens a subscription. @param make gets the number of the subscription. */
  #open(make: (n: number) => Opened): () => void {
    this.#sleep ??= onWake(() => this.#port.postMessage({ type: "wake" }));
    this.#lastNumber += 1;
    const n = this.#lastNumber;
    const opened = make(n);
    this.#opened.set(n, opened);
    if (this.#own !== null) opened.stop = opened.openAt(this.#own);
    else if (this.#isWelcome) this.#port.postMessage(opened.message);
    return () => {
      if (!this.#opened.delete(n)) return;
      opened.stop?.();
      this.#port.postMessage({ type: "stop", n });
    };
  }

  async #receive(message: WorkerMessage): Promise<void> {
    if (this.#own !== null) return;
    if (message.type === "welcome") {
      this.#isWelcome = true;
      for (const opened of this.#opened.values()) this.#port.postMessage(opened.message);
    } else if (message.type === "ask") {
      const { identity } = this.#options;
      if (message.used !== null) await identity.renew(message.used).catch(() => undefined);
      const bearer = (await identity.bearer()) ?? null;
      // The tokens of another user are not for the socket of this session. After the greeting, the worker asks another tab.
      if (sessionOf(bearer) === this.#session) this.#port.postMessage({ type: "bearer", bearer });
      else void this.#greet();
    } else if (message.type === "state") this.connection.set(message.state);
    else if (this.#isWelcome) this.#opened.get(message.n)?.heard(message);
  }
}
