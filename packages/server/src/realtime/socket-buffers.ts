/** Socket buffers: the bytes that wait in all sockets, and the end of the slowest sockets when these are too many. */
import type { LimitMeter } from "../logging/index.ts";
import type { Buffered } from "./types.ts";

/** The part of the bound by which what was sent must grow before all sockets are looked at again. */
const lookEvery = 16;

/** The part of the bound that stays free after sockets were cut off, so that the next event does not cut off more. */
const headroom = 4;

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

  constructor(options: { sockets: ReadonlySet<Buffered>; limits: LimitMeter; limit: number; total: number }) {
    this.#sockets = options.sockets;
    this.#limits = options.limits;
    this.#limit = options.limit;
    this.#total = options.total;
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

  /** Sends a text to the sockets of a topic, all at once if they have room for it even if nobody reads. */
  publish(publisher: Publisher, topic: string, text: string): void {
    const subscribers = publisher.subscriberCount(topic);
    if (subscribers === 0) return;
    const growth = subscribers * Buffer.byteLength(text);
    if (!this.#hasRoom(growth)) {
      this.#sendToEach(topic, text);
      return;
    }
    publisher.publish(topic, text, false);
    this.#sent += growth;
    this.#pending += growth;
    this.#perSocket += growth / subscribers;
    this.#openTurn();
  }

  #hasRoom(growth: number): boolean {
    if (this.#known + this.#sent + growth <= this.#total) return true;
    if (growth + this.#pending > this.#total) return false;
    if (this.#sent > this.#total / lookEvery) this.#look();
    return this.#known + this.#sent + growth <= this.#total;
  }

  /** One socket after the other, so that the slowest are cut off before the next one is sent anything. */
  #sendToEach(topic: string, text: string): void {
    this.#look();
    for (const socket of this.#sockets) {
      if (!socket.hasJoined(topic)) continue;
      const before = socket.waiting();
      socket.sendNow(text);
      this.#known += Math.max(0, socket.waiting() - before);
      if (this.#known > this.#total) this.#look();
    }
  }

  /** Once what was published in this turn is in the sockets' buffers, they may be full. */
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
    return rest;
  }
}
