/** Socket buffers: the bytes that wait in all sockets, and the end of the slowest sockets when too many bytes wait. */
import { nextTurn, releasedMemory } from "../../base/kernel/index.ts";
import type { LimitMeter } from "../../base/logging/index.ts";

/** A socket, as far as `SocketBuffers` uses a socket. */
export interface Buffered {
  /** Whether many bytes waited in the socket at the last look. */
  isSlow: boolean;
  /** Bytes that wait to be sent. */
  waiting(): number;
  hasJoined(topic: string): boolean;
  /** Sends a text that is counted already. */
  sendNow(text: string): void;
  /** Ends the socket at once, and drops its waiting bytes. */
  cutOff(): void;
}

/** A socket that gets a text. */
export type Receiver = Pick<Buffered, "waiting" | "sendNow">;

/** The part of the bound by which the sent bytes must grow before all sockets are measured again. */
const lookEvery = 16;

/** The part of the bound that stays free after sockets were cut off, so that the next event cuts off no further sockets. */
const headroom = 4;

/** The most bytes, over all sockets together, that an event may have to be sent in a single turn of the event loop. */
const undivided = 4 * 1024 ** 2;

/** Milliseconds for which a large event holds the event loop at a time. */
const sliceMs = 8;

/** Sends a text to every socket that has joined a topic. Bun's server implements `Publisher`. */
export interface Publisher {
  publish(topic: string, text: string, compress: boolean): unknown;
  subscriberCount(topic: string): number;
}

/**
 * Bounds the bytes that wait in all sockets. To ask each socket for its waiting bytes after each event would cost more than
 * the event. So the sent bytes are added up, as if no client read, and the sockets are asked when the sum may exceed the bound.
 */
export class SocketBuffers {
  readonly #sockets: ReadonlySet<Buffered>;
  readonly #limits: LimitMeter;
  /** The most bytes that may wait in a socket. */
  readonly #limit: number;
  /** The most bytes that may wait in all sockets. */
  readonly #total: number;
  /** Bytes that waited at the last look. */
  #known = 0;
  /** The most bytes that were sent since the last look. */
  #sent = 0;
  /** The part of `#sent` that was published in this turn of the event loop: the sockets do not count these bytes yet. */
  #pending = 0;
  /** The most bytes that were published to any socket since the last look. */
  #perSocket = 0;
  #isTurnOpen = false;
  /** The sockets that still wait for their share of a large event, and the text. */
  readonly #owed = new Map<Buffered, string>();

  constructor(options: { sockets: ReadonlySet<Buffered>; limits: LimitMeter; limit: number; total: number }) {
    this.#sockets = options.sockets;
    this.#limits = options.limits;
    this.#limit = options.limit;
    this.#total = options.total;
  }

  /** Forgets a socket that is about to end: the socket gets no more bytes. */
  ending(socket: Buffered): void {
    this.#owed.delete(socket);
  }

  /** Counts a socket that has ended. @param code of the close frame. */
  closed(socket: Buffered, code: number): void {
    // The runtime cuts off a socket whose buffer is full, without an event for that.
    if (code === 1006 && socket.isSlow) this.#limits.reached("socketBuffer");
  }

  /** Counts bytes that were sent to a single socket. */
  sent(bytes: number): void {
    this.#sent += bytes;
    if (this.#known + this.#sent > this.#total && this.#sent > this.#total / lookEvery) this.#look();
  }

  /**
   * Sends a text to the sockets of some topics; no socket may have joined two of the topics. A text goes to all sockets at
   * once if a turn of the event loop is enough and the sockets have room even if no client reads; otherwise the text goes to
   * one socket after another. The next text follows after that.
   */
  publish(publisher: Publisher, topics: readonly string[], text: string): Promise<void> | undefined {
    const joined = topics.filter((topic) => publisher.subscriberCount(topic) > 0);
    if (joined.length === 0) return undefined;
    const bytes = Buffer.byteLength(text);
    const growth = bytes * joined.reduce((sum, topic) => sum + publisher.subscriberCount(topic), 0);
    if (growth > undivided || !this.#hasRoom(growth)) return this.#sendToEach(joined, text);
    for (const topic of joined) publisher.publish(topic, text, false);
    this.#published(bytes, growth / bytes);
    return undefined;
  }

  /** Counts bytes that were sent to several sockets. */
  #published(bytes: number, sockets: number): void {
    this.#sent += bytes * sockets;
    this.#pending += bytes * sockets;
    this.#perSocket += bytes;
    this.#openTurn();
  }

  /** Sends a text in this turn of the event loop. @param to the sockets that get the text, and how to send to all without regard to room. */
  sendAtOnce(text: string, to: { count: number; sockets: () => Iterable<Receiver>; publish: () => void }): void {
    const bytes = Buffer.byteLength(text);
    if (to.count * bytes > undivided || !this.#hasRoom(to.count * bytes)) {
      for (const socket of to.sockets()) this.#sendTo(socket, text);
      return;
    }
    to.publish();
    this.#published(bytes, to.count);
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

  /** Sends to one socket after another, so that the slowest sockets are cut off before the next socket gets its text. */
  async #sendToEach(topics: readonly string[], text: string): Promise<void> {
    this.#look();
    // Sockets that join a topic from now on do not get this event.
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
    this.#sendTo(socket, text);
  }

  #sendTo(socket: Receiver, text: string): void {
    const before = socket.waiting();
    socket.sendNow(text);
    this.#known += Math.max(0, socket.waiting() - before);
    if (this.#known > this.#total) this.#look();
  }

  /** Checks for full buffers after the events of this turn have reached the buffers. */
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

  /** Asks every socket for its waiting bytes, and cuts off the fullest sockets while the sum is above the bound. */
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
