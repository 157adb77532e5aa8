/** Live subscriptions: the live queries that one socket views, by the ids of the subscriptions. */
import type { Listener } from "./audience.ts";
import { errorText, type FrameError, replyText } from "./frames.ts";
import type { LiveQueries } from "./live-queries.ts";
import type { Viewer } from "./live-query.ts";
import type { LiveSource } from "./live-sources.ts";

/** The part of a socket that its live subscriptions use. */
export interface ViewingSocket {
  readonly listener: Listener;
  readonly caller: string;
  readonly address: string;
  send(text: string): void;
  /** A subscription has ended by itself. */
  gaveUp(): void;
}

class SocketViewer implements Viewer {
  readonly id: string;
  toldSeq: number | null = null;
  readonly #socket: ViewingSocket;
  readonly #onEnd: (error: FrameError) => void;

  constructor(id: string, socket: ViewingSocket, onEnd: (error: FrameError) => void) {
    this.id = id;
    this.#socket = socket;
    this.#onEnd = onEnd;
  }

  get listener(): Listener {
    return this.#socket.listener;
  }

  get caller(): string {
    return this.#socket.caller;
  }

  get address(): string {
    return this.#socket.address;
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  end(error: FrameError): void {
    this.#onEnd(error);
  }
}

export class LiveSubscriptions {
  readonly #socket: ViewingSocket;
  readonly #queries: LiveQueries;
  readonly #viewers = new Map<string, SocketViewer>();

  constructor(socket: ViewingSocket, queries: LiveQueries) {
    this.#socket = socket;
    this.#queries = queries;
  }

  get size(): number {
    return this.#viewers.size;
  }

  /** The queries of the subscriptions, by the ids. */
  get sources(): ReadonlyMap<string, LiveSource> {
    const sources = new Map<string, LiveSource>();
    for (const [id, viewer] of this.#viewers) {
      const source = this.#queries.sourceOf(viewer);
      if (source !== null) sources.set(id, source);
    }
    return sources;
  }

  has(id: string): boolean {
    return this.#viewers.has(id);
  }

  /** Begins a subscription, or replaces the query of a subscription. @throws FrameError as `LiveQueries.view`. */
  begin(id: string, source: LiveSource, since: number | null): void {
    const viewer = new SocketViewer(id, this.#socket, (error) => {
      this.#queries.leave(viewer);
      if (this.#viewers.get(id) !== viewer) return;
      this.#viewers.delete(id);
      this.#socket.gaveUp();
      this.#socket.send(errorText(error.about({ name: null, id })));
    });
    // The answer comes before the window.
    const held: string[] = [];
    let isAnswered = false;
    viewer.send = (text) => (isAnswered ? this.#socket.send(text) : void held.push(text));
    this.#queries.view(viewer, source, since);
    const former = this.#viewers.get(id);
    if (former !== undefined) this.#queries.leave(former);
    this.#viewers.set(id, viewer);
    this.#socket.send(replyText("subscribed", null, id));
    isAnswered = true;
    for (const text of held) this.#socket.send(text);
  }

  /** Ends a subscription. A second call does nothing. */
  end(id: string): void {
    const viewer = this.#viewers.get(id);
    if (viewer === undefined) return;
    this.#viewers.delete(id);
    this.#queries.leave(viewer);
    this.#socket.gaveUp();
  }

  endAll(): void {
    for (const id of [...this.#viewers.keys()]) this.end(id);
  }

  changeListener(): void {
    for (const viewer of [...this.#viewers.values()]) this.#queries.changeListener(viewer);
  }

  /**
   * Tells the seq up to which all windows are told, if some window was told less.
   * @returns whether all windows are told up to `wanted`.
   */
  tellPosition(wanted: number): boolean {
    const viewers = [...this.#viewers.values()].filter(({ toldSeq }) => toldSeq !== null);
    const known = Math.min(...viewers.map(({ toldSeq }) => toldSeq ?? 0));
    if (known >= wanted) return true;
    const seq = Math.min(...viewers.map((viewer) => this.#queries.toldUpTo(viewer)));
    if (seq > known) {
      this.#socket.send(`{"type":"position","seq":${seq}}`);
      for (const viewer of viewers) viewer.toldSeq = Math.max(viewer.toldSeq ?? 0, seq);
    }
    return seq >= wanted;
  }
}
