/** Socket buffers: the bytes that wait in all sockets, and the end of the slowest sockets when these are too many. */
import { type Awaitable, nextTurn, releasedMemory } from "../kernel/index.ts";
import type { LimitMeter } from "../logging/index.ts";
import type { Buffered } from "./types.ts";

/** The part of the bound by which the sent bytes must grow before all sockets are measured again. */
const lookEvery = 16;

/** The part of the bound that stays free after sockets were cut off, so that the next event does not cut off more. */
const headroom = 4;

/**
 * An event that comes to more bytes than these, in all sockets together, is sent in several turns of the event loop.
 */
const undivided = 4 * 1024 ** 2;

/** How long such an event holds the event loop at a time. */
const sliceMs = 8;

/** Sends a text to every socket that has joined a topic; Bun's server has it. */
export interface Publisher {
  publish(topic: string, text: string, compress: boolean): unknown;
  subscriberCount(topic: string): number;
}

/**
 * Nobody tells how much waits in a socket, and asking each of them after each event would cost more than the event. So
 * what is sent is added up, as if nobody read it, and the sockets are asked when that sum could have passed the bound.
 */
export class SocketBuffers {
  readonly #sockets: ReadonlySet<Buffered>;
  readonly #limits: LimitMeter;
  /** Bytes that may wait in one socket. */
  readonly #limit: number;
  /** Bytes that may wait in all sockets. */
  readonly #total: number;
  /** Bytes that waited when the sockets were looked at last. */
  #known = 0;
  /** Bytes that were sent since, at most. */
  #sent = 0;
  /** The part of it that was published in this turn of the event loop: the sockets do not know of it yet. */
  #pending = 0;
  /** Bytes that were published to one socket since the last look, at most. */
  #perSocket = 0;
  #isTurnOpen = false;
  /** The sockets that are still to get the event that is being sent, and its text. */
  readonly #owed = new Map<Buffered, string>();

  constructor(options: { sockets: ReadonlySet<Buffered>; limits: LimitMeter; limit: number; total: number }) {
    this.#sockets = options.sockets;
    this.#limits = options.limits;
    this.#limit = options.limit;
    this.#total = options.total;
  }

  /** A socket is about to end: it gets nothing more. */
  ending(socket: Buffered): void {
    this.#owed.delete(socket);
  }

  /** A socket has ended. `code`: that with which it was closed. */
  closed(socket: Buffered, code: number): void {
    // The runtime cuts off a socket whose buffer is full, and does not say so.
    if (code === 1006 && socket.isSlow) this.#limits.reached("socketBuffer");
  }

  /** A socket was sent something by itself. */
  sent(bytes: number): void {
    this.#sent += bytes;
    if (this.#known + this.#sent > this.#total && this.#sent > this.#total / lookEvery) this.#look();
  }

  /**
   * Sends a text to the sockets of some topics, of which no socket has joined two: all at once, if it is not too much
   * for one turn of the event loop and they have room for it even if nobody reads; else one socket after the other.
   * Nothing else is to be published before it ends.
   */
  publish(publisher: Publisher, topics: readonly string[], text: string): Awaitable<unknown> {
    const joined = topics.filter((topic) => publisher.subscriberCount(topic) > 0);
    if (joined.length === 0) return undefined;
    const bytes = Buffer.byteLength(text);
    const growth = bytes * joined.reduce((sum, topic) => sum + publisher.subscriberCount(topic), 0);
    if (growth > undivided || !this.#hasRoom(growth)) return this.#sendToEach(joined, text);
    for (const topic of joined) publisher.publish(topic, text, false);
    this.#sent += growth;
    this.#pending += growth;
    this.#perSocket += bytes;
    this.#openTurn();
    return undefined;
  }

  /** Sends a socket at once its share of the event that is being sent, before the socket changes its topics. */
  catchUp(socket: Buffered): void {
    const text = this.#owed.get(socket);
    if (text !== undefined) this.#give(socket, text);
  }

  #hasRoom(growth: number): boolean {
    if (this.#known + this.#sent + growth <= this.#total) return true;
    if (growth + this.#pending > this.#total) return false;
    if (this.#sent > this.#total / lookEvery) this.#look();
    return this.#known + this.#sent + growth <= this.#total;
  }

  /** One socket after the other, so that the slowest are cut off before the next one is sent anything. */
  async #sendToEach(topics: readonly string[], text: string): Promise<void> {
    this.#look();
    // A socket that joins a topic from now on does not get this event.
    const sockets = [...this.#sockets].filter((socket) => topics.some((topic) => socket.hasJoined(topic)));
    for (const socket of sockets) this.#owed.set(socket, text);
    let until = performance.now() + sliceMs;
    for (const socket of sockets) {
      if (performance.now() > until) {
        await nextTurn();
        until = performance.now() + sliceMs;
      }
      if (this.#owed.has(socket)) this.#give(socket, text);
    }
  }

  #give(socket: Buffered, text: string): void {
    this.#owed.delete(socket);
    const before = socket.waiting();
    socket.sendNow(text);
    this.#known += Math.max(0, socket.waiting() - before);
    if (this.#known > this.#total) this.#look();
  }

  /** Checks for full buffers once the events of this turn are in them. */
  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    setImmediate(() => {
      this.#isTurnOpen = false;
      this.#pending = 0;
      const isFull = this.#known + this.#sent > this.#total && this.#sent > this.#total / lookEvery;
      if (isFull || this.#perSocket > this.#limit / 2) this.#look();
    });
  }

  /** Asks every socket how much waits in it, and cuts off those with the most while it is too much in all. */
  #look(): void {
    let sum = 0;
    for (const socket of this.#sockets) {
      const waiting = socket.waiting();
      socket.isSlow = waiting > this.#limit / 2;
      sum += waiting;
    }
    if (sum > this.#total) sum = this.#cutOff(sum);
    this.#known = sum;
    this.#sent = this.#pending;
    this.#perSocket = 0;
  }

  #cutOff(sum: number): number {
    const goal = this.#total - this.#total / headroom;
    const slowest = [...this.#sockets]
      .map((socket) => ({ socket, waiting: socket.waiting() }))
      .sort((a, b) => b.waiting - a.waiting);
    let rest = sum;
    for (const { socket, waiting } of slowest) {
      if (rest <= goal || waiting === 0) break;
      rest -= waiting;
      this.#limits.reached("socketBuffers");
      socket.isSlow = false;
      socket.cutOff();
    }
    releasedMemory(sum - rest);
    return rest;
  }
}
