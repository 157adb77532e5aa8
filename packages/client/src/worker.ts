/** The worker that the tabs of a browser share: a socket for each address and session, for the subscriptions of all tabs. */
import type { Identity } from "./connection.ts";
import { OwnFeed } from "./feed.ts";
import { Channels } from "./realtime.ts";
import type { RoomHandle } from "./rooms.ts";
import type { Locks, Port, TabMessage, WorkerMessage } from "./shared-messages.ts";
import { socketConstructor } from "./socket.ts";

type TabPort = Port<WorkerMessage, TabMessage>;

/** The socket of a session, with the tabs of the session. */
class Hub {
  readonly feed: OwnFeed;
  readonly #key: string;
  readonly #tabs = new Set<Tab>();

  constructor(key: string, baseUrl: string) {
    this.#key = key;
    const identity: Identity = { bearer: () => this.#ask(null), renew: (used) => this.#ask(used) };
    this.feed = new OwnFeed({
      baseUrl,
      identity,
      webSocket: socketConstructor(undefined),
      channels: { own: (connection) => new Channels(connection) },
    });
    this.feed.connection.subscribe((state) => {
      for (const tab of this.#tabs) tab.port.postMessage({ type: "state", state });
    });
  }

  add(tab: Tab): void {
    this.#tabs.add(tab);
    tab.port.postMessage({ type: "state", state: this.feed.connection.get() });
  }

  delete(tab: Tab): void {
    this.#tabs.delete(tab);
    if (this.#tabs.size === 0) hubs.delete(this.#key);
  }

  /** Asks the tab that came last for the token: the other tabs may sleep. A tab that goes away answers null, and the next is asked. */
  async #ask(used: string | null): Promise<string | null> {
    for (let tab = [...this.#tabs].at(-1); tab !== undefined; tab = [...this.#tabs].at(-1)) {
      const bearer = await tab.ask(used);
      if (bearer !== undefined) return bearer;
    }
    return null;
  }
}

const hubs = new Map<string, Hub>();

class Tab {
  readonly port: TabPort;
  readonly #stops = new Map<number, () => void>();
  readonly #rooms = new Map<number, RoomHandle>();
  #hub: Hub | null = null;
  #answers: ((bearer: string | null | undefined) => void)[] = [];

  constructor(port: TabPort, locks: Locks) {
    this.port = port;
    port.onmessage = ({ data }) => {
      if (data.type === "hello" && this.#hub === null)
        void locks.request(data.lock, async () => this.#leave()).then(() => undefined);
      this.#receive(data);
    };
  }

  /** Resolves with undefined if the tab has gone away. */
  ask(used: string | null): Promise<string | null | undefined> {
    this.port.postMessage({ type: "ask", used });
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  #receive(message: TabMessage): void {
    if (message.type === "hello") this.#greet(message);
    else if (message.type === "bearer") this.#answers.shift()?.(message.bearer);
    else if (message.type === "stop") this.#stop(message.n);
    else if (message.type === "room") this.#join(message);
    else if (message.type === "roomAction") this.#rooms.get(message.n)?.send(message.action);
    else if (message.type === "wake") this.#hub?.feed.wake();
    else this.#stops.set(message.n, this.#open(message));
  }

  #join({ n, frame }: TabMessage & { type: "room" }): void {
    const handle = this.#hub?.feed.room(frame, (news) => this.port.postMessage({ type: "roomNews", n, news }));
    if (handle === undefined) throw new Error("A tab greets before it joins");
    this.#rooms.set(n, handle);
    this.#stops.set(n, () => {
      handle.leave();
      this.#rooms.delete(n);
    });
  }

  #greet({ baseUrl, session }: TabMessage & { type: "hello" }): void {
    this.#leave();
    const key = JSON.stringify([baseUrl, session]);
    const hub = hubs.get(key) ?? new Hub(key, baseUrl);
    hubs.set(key, hub);
    this.#hub = hub;
    this.port.postMessage({ type: "welcome" });
    hub.add(this);
  }

  #open(message: TabMessage & { type: "channel" | "query" }): () => void {
    const { n } = message;
    const feed = this.#hub?.feed;
    if (feed?.subscribe === undefined) throw new Error("A tab greets before it subscribes");
    if (message.type === "query")
      return feed.query(message.query, (news) => this.port.postMessage({ type: "news", n, news }));
    return feed.subscribe(message.channel, (event) => this.port.postMessage({ type: "event", n, event }), {
      ...(message.filter !== undefined && { filter: message.filter }),
      onReset: () => this.port.postMessage({ type: "live", n }),
      onError: (error) => this.port.postMessage({ type: "refused", n, message: error.message }),
    });
  }

  #stop(n: number): void {
    this.#stops.get(n)?.();
    this.#stops.delete(n);
  }

  #leave(): void {
    this.#hub?.delete(this);
    for (const n of [...this.#stops.keys()]) this.#stop(n);
    for (const answer of this.#answers.splice(0)) answer(undefined);
  }
}

/** The parts of the scope of a shared worker; the types of server runtimes do not have the scope. */
interface WorkerScope {
  onconnect?: (event: { readonly ports: readonly TabPort[] }) => void;
  readonly navigator?: { readonly locks?: Locks };
}
const scope = globalThis as WorkerScope;
scope.onconnect = ({ ports: [port] }) => {
  const locks = scope.navigator?.locks;
  // Without an answer, the tab opens a socket of its own.
  if (port !== undefined && locks !== undefined) new Tab(port, locks);
};
