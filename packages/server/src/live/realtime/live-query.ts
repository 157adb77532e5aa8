/**
 * A live query: the window of a query, for the callers who get the same answer, and the viewers of the window. Each viewer gets
 * the whole window once, then a change each time that the window has changed. The window of a server query is the value.
 */
import type { JsonValue } from "@socle/protocol";
import type { Principal } from "../../base/kernel/index.ts";
import type { LivePage } from "../../data/queries/index.ts";
import { type Listener, nameOf } from "./audience.ts";
import type { FrameError } from "./frames.ts";
import type { LivePlan, LiveSource } from "./live-sources.ts";

/** The part of a subscription that a live query sees. */
export interface Viewer {
  /** Names the subscription in frames. */
  readonly id: string;
  readonly listener: Listener;
  /** The caller who pays for the query: a user id or an address. */
  readonly caller: string;
  /** The address of the socket, see `LiveBudget`. */
  readonly address: string;
  /** The seq up to which the viewer knows the window; null before the first window. */
  toldSeq: number | null;
  send(text: string): void;
  /** The subscription ends with an error. */
  end(error: FrameError): void;
}

/** A window that was read. */
export interface ReadWindow extends Omit<LivePage, "ms"> {
  /** Each event up to this seq is in the window. */
  readonly seq: number;
}

/** A window as told to viewers. The texts of the items are not kept: a hash tells whether an item has changed. */
interface Window {
  /** The ids of records in their order, or a hash of all groups or of the value. */
  readonly order: string;
  readonly hashes: ReadonlyMap<string, number | bigint>;
  readonly total: number | null;
  readonly nextKey: string;
  readonly cursorFor: (principal: Principal) => string | null;
}

const nothing: Window = { order: "[]", hashes: new Map(), total: null, nextKey: "", cursorFor: () => null };

export class LiveQuery {
  readonly source: LiveSource;
  plan: LivePlan;
  /** Viewers who know the window. */
  readonly viewers = new Set<Viewer>();
  /** Viewers who wait for the whole window. */
  readonly waiting = new Set<Viewer>();
  /** The callers of all viewers, with the number of their viewers. */
  readonly callers = new Map<string, number>();
  /** The shares of the live room that hold the window, with the number of their viewers. */
  readonly shares = new Map<string, number>();
  /** Milliseconds between two runs, at least. */
  every: number;
  #window: Window | null = null;
  /** The window is as it was at this seq. */
  #sameSince = 0;
  readonly #usual: number;

  /** @param every the usual milliseconds between two runs. */
  constructor(source: LiveSource, plan: LivePlan, every: number) {
    this.source = source;
    this.plan = plan;
    this.every = every;
    this.#usual = every;
  }

  get isEmpty(): boolean {
    return this.viewers.size + this.waiting.size === 0;
  }

  /**
   * Adds a viewer who knows the window of a seq, if the window is still the same: the viewer is told the order alone. Answers false
   * for any other viewer.
   * @param now the newest seq.
   */
  resume(viewer: Viewer, since: number, now: number): boolean {
    if (this.#window === null || this.plan.shape !== "records" || this.plan.onTime) return false;
    if (since < this.#sameSince || since > now) return false;
    this.viewers.add(viewer);
    viewer.toldSeq = since;
    viewer.send(this.#frame(viewer, { type: "change", seq: since, body: `"order":${this.#window.order},"items":[]` }));
    return true;
  }

  /** Takes a window, and tells each viewer the whole window or the change. */
  take(read: ReadWindow): void {
    const before = this.#window;
    const { shape } = this.plan;
    const { window, changed } = shape === "records" ? ofRecords(read, before) : ofWhole(read, before);
    const isSame = before !== null && changed === "";
    const whole = `"${shape === "value" ? "value" : "items"}":${read.json}`;
    this.#window = window;
    if (!isSame) {
      this.#sameSince = read.seq;
      const change = { type: "change", body: `"order":${window.order},"items":[${changed}]` } as const;
      const result = { type: "result", body: whole } as const;
      this.#tell(this.viewers, { ...(shape === "records" ? change : result), seq: read.seq });
    }
    this.#tell(this.waiting, { type: "result", seq: read.seq, body: whole });
    for (const viewer of this.waiting) this.viewers.add(viewer);
    this.waiting.clear();
  }

  /** The right to read has ended: the window of each viewer becomes empty. Viewers without a window get an error. */
  close(seq: number, error: FrameError): void {
    this.#window = nothing;
    this.#sameSince = seq;
    const isOfGroups = this.plan.shape === "groups";
    const body = isOfGroups ? '"items":[]' : '"order":[],"items":[]';
    this.#tell(this.viewers, { type: isOfGroups ? "result" : "change", seq, body });
    for (const viewer of [...this.waiting])
      if (viewer.toldSeq === null) viewer.end(error);
      else this.viewers.add(viewer);
    this.#tell(this.waiting, { type: isOfGroups ? "result" : "change", seq, body });
    this.waiting.clear();
  }

  /** Ends the subscriptions of all viewers. */
  fail(error: FrameError): void {
    for (const viewer of [...this.viewers, ...this.waiting]) viewer.end(error);
  }

  #tell(viewers: Iterable<Viewer>, part: { type: "result" | "change"; seq: number; body: string }): void {
    // Viewers of one caller class often follow each other, with the same frame: a cursor of a frame costs a signature.
    let [key, text] = ["", ""];
    for (const viewer of viewers) {
      const own = `${nameOf(viewer.listener)}\n${viewer.id}`;
      if (own !== key) [key, text] = [own, this.#frame(viewer, part)];
      viewer.send(text);
      viewer.toldSeq = part.seq;
    }
  }

  #frame({ id, listener }: Viewer, { type, seq, body }: { type: string; seq: number; body: string }): string {
    const { total, cursorFor } = this.#window ?? nothing;
    const every = this.every > this.#usual ? `,"every":${Math.round(this.every)}` : "";
    const start = `{"type":"${type}","id":${JSON.stringify(id)},"seq":${seq},${body}`;
    if (this.plan.shape === "value") return `${start}${every}}`;
    const cursor = cursorFor(listener);
    const count = total === null ? "" : `,"total":${total}`;
    return `${start},"nextCursor":${cursor === null ? "null" : `"${cursor}"`}${count}${every}}`;
  }
}

/** The window of records, and the JSON of the new and the changed records; "" if nothing has changed. */
function ofRecords(read: ReadWindow, before: Window | null): { window: Window; changed: string } {
  const items = JSON.parse(read.json) as { readonly [name: string]: JsonValue }[];
  const hashes = new Map<string, number | bigint>();
  const texts: string[] = [];
  for (const item of items) {
    const id = String(item["id"]);
    const text = JSON.stringify(item);
    const hash = Bun.hash(text);
    hashes.set(id, hash);
    if (before?.hashes.get(id) !== hash) texts.push(text);
  }
  const { total, nextKey, cursorFor } = read;
  const window = { order: JSON.stringify([...hashes.keys()]), hashes, total, nextKey, cursorFor };
  return { window, changed: texts.length > 0 ? texts.join() : isSameFrame(window, before) ? "" : " " };
}

/** The window of groups or of a value: any difference is a change of the whole. */
function ofWhole(read: ReadWindow, before: Window | null): { window: Window; changed: string } {
  const { json, total, nextKey, cursorFor } = read;
  const window = { order: String(Bun.hash(json)), hashes: nothing.hashes, total, nextKey, cursorFor };
  return { window, changed: isSameFrame(window, before) ? "" : " " };
}

/** Whether two windows are the same but for the records. */
function isSameFrame(window: Window, before: Window | null): boolean {
  return window.order === before?.order && window.total === before.total && window.nextKey === before.nextKey;
}
