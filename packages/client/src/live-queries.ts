/** Live queries over the connection: equal queries share a subscription, and a break is resumed from the last position. */
import type { LiveChange } from "@socle/protocol";
import type { Connection, ConnectionPart, ReceivedFrame } from "./connection.ts";
import type { LiveFrame, LivePosition, LiveQuery, LiveWhole } from "./live-frames.ts";
import { tell } from "./observable.ts";

/** News about a query: frames of the service; `lost` after a break, `reset` when the caller is somebody else. */
export type LiveNews = LiveFrame | { readonly type: "lost" } | { readonly type: "reset" };
export type NewsListener = (news: LiveNews) => void;

/** A subscription at the service. */
interface Wire {
  readonly key: string;
  readonly query: LiveQuery;
  readonly listeners: Set<NewsListener>;
  id: string;
  /** The present result, for the next listener; null before the first result. */
  result: LiveWhole | null;
  /** The position up to which the result is right; null to ask for a whole result. */
  seq: number | null;
  /** Whether the service has ended the query: another caller may be allowed to ask. */
  isOver: boolean;
}

/** The result after a change; null if the change names a record that the result does not have. */
export function changed(result: LiveWhole, { order, items, ...page }: LiveChange): LiveWhole | null {
  if (!("items" in result)) return null;
  const known = new Map([...result.items, ...items].map((item) => [item["id"], item]));
  const window = order.map((id) => known.get(id)).filter((item) => item !== undefined);
  return window.length < order.length ? null : { ...page, type: "result", items: window };
}

export class LiveQueries implements ConnectionPart {
  readonly #connection: Connection;
  readonly #wires = new Map<string, Wire>();
  #lastId = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.add(this);
  }

  get isNeeded(): boolean {
    return [...this.#wires.values()].some(({ isOver }) => !isOver);
  }

  subscribe(query: LiveQuery, listener: NewsListener): () => void {
    const key = JSON.stringify(query);
    const known = this.#wires.get(key);
    const wire = known ?? { key, query, listeners: new Set(), id: "", result: null, seq: null, isOver: true };
    wire.listeners.add(listener);
    if (wire.isOver) {
      wire.isOver = false;
      this.#wires.set(key, wire);
      this.#ask(wire);
      this.#connection.update();
    } else if (wire.result !== null && wire.seq !== null) {
      listener({ ...wire.result, seq: wire.seq });
    }
    if (this.#connection.state.get() === "offline") listener({ type: "lost" });
    return () => {
      wire.listeners.delete(listener);
      if (wire.listeners.size > 0 || this.#wires.get(key) !== wire) return;
      this.#wires.delete(key);
      if (!wire.isOver) this.#connection.send({ action: "unsubscribe", id: wire.id });
      this.#connection.update();
    };
  }

  /** Forgets the results and the refusals, which were for another caller. */
  reset(): void {
    for (const wire of this.#wires.values()) {
      wire.result = null;
      wire.seq = null;
      wire.isOver = false;
      this.#tell(wire, { type: "reset" });
    }
    this.#connection.update();
  }

  close(): void {
    this.#wires.clear();
    this.#connection.update();
  }

  opened(): void {
    for (const wire of this.#wires.values()) if (!wire.isOver) this.#ask(wire);
  }

  lost(): void {
    for (const wire of this.#wires.values()) if (!wire.isOver) this.#tell(wire, { type: "lost" });
  }

  heard(received: ReceivedFrame): void {
    // Frames of channels have other types, or ids of their own.
    const frame = received as LiveFrame;
    if (frame.type === "position") {
      this.#passed(frame);
      return;
    }
    const wire = [...this.#wires.values()].find(({ id }) => id === frame.id);
    if (!wire || wire.isOver) return;
    if (frame.type === "error") {
      wire.isOver = true;
      wire.seq = null;
      this.#tell(wire, frame);
      this.#connection.update();
    } else if (frame.type === "result" || frame.type === "change") this.#take(wire, frame);
  }

  #passed(frame: LivePosition): void {
    for (const wire of this.#wires.values()) {
      if (wire.seq === null) continue;
      wire.seq = Math.max(wire.seq, frame.seq);
      this.#tell(wire, frame);
    }
  }

  #take(wire: Wire, frame: LiveWhole | LiveChange): void {
    const result = frame.type === "result" ? frame : wire.result && changed(wire.result, frame);
    if (result === null) {
      // The service and this client do not have the same window: the whole result puts that right.
      this.#connection.send({ action: "unsubscribe", id: wire.id });
      wire.seq = null;
      this.#ask(wire);
      return;
    }
    wire.result = result;
    wire.seq = frame.seq;
    this.#tell(wire, frame);
  }

  /** Each request has an id of its own: a late frame of an earlier request is for nobody. */
  #ask(wire: Wire): void {
    this.#lastId += 1;
    wire.id = `q${this.#lastId}`;
    const { id, query, seq } = wire;
    this.#connection.send({ action: "subscribe", id, query, since: seq ?? undefined });
  }

  #tell(wire: Wire, news: LiveNews): void {
    tell(wire.listeners, news);
  }
}
