/**
 * Liveness of a script process, as the process sees it. After a long time without a message from the service, the service may have
 * given the attempts that have not begun to another process. The process then sends `doubt`, and begins no attempt until the
 * service sends `go`; a process whose attempts were given away never receives `go`.
 */
import type { FromChild, ToChild } from "../protocol.ts";

/** The time without a `ping` after which the process is in doubt: half the time for which the service waits. */
const doubtMs = 500;

export type Invoke = Extract<ToChild, { readonly type: "invoke" }>;

interface DoubtOptions {
  readonly send: (message: FromChild) => void;
  /** Whether the service knows of no begun attempt: then the service kills a process that does not answer. */
  readonly isIdle: () => boolean;
  readonly begin: (message: Invoke) => void;
}

export class Liveness {
  readonly #options: DoubtOptions;
  /** The time of the last `ping`, or of the message that ended the last idle time (`performance.now`). */
  #heardAt = 0;
  #doubts = 0;
  /** The invocations that wait for the end of a doubt; null without a doubt. */
  #held: Invoke[] | null = null;

  constructor(options: DoubtOptions) {
    this.#options = options;
  }

  /** A `ping` was read. */
  heard(): void {
    this.#heardAt = performance.now();
    this.#options.send({ type: "pong" });
  }

  /** To be called with each message, before an attempt begins, and before the service hears of an end. */
  look(): void {
    if (this.#options.isIdle() || performance.now() - this.#heardAt < doubtMs) return;
    this.#heardAt = performance.now();
    this.#held ??= [];
    this.#doubts += 1;
    this.#options.send({ type: "doubt", doubt: this.#doubts });
  }

  /** Begins the attempts, or holds the attempts until the end of a doubt. */
  invoke(message: Invoke): void {
    if (this.#held !== null) {
      this.#held.push(message);
      return;
    }
    if (this.#options.isIdle()) this.#heardAt = performance.now();
    this.#options.begin(message);
  }

  /** Looks, and in doubt holds attempts that were about to begin. Answers whether the attempts are held. */
  holds(message: () => Invoke): boolean {
    this.look();
    this.#held?.unshift(message());
    return this.#held !== null;
  }

  /** The end of the last doubt. An earlier doubt may have been answered before the service gave up waiting. */
  go(doubt: number): void {
    if (doubt !== this.#doubts) return;
    const held = this.#held ?? [];
    this.#held = null;
    for (const message of held) this.invoke(message);
  }

  /** The attempt is over, and must not begin. */
  forget(attempt: number): void {
    if (this.#held === null) return;
    const isOther = (call: Invoke["calls"][number]): boolean => call.attempt !== attempt;
    this.#held = this.#held.map((message) => ({ ...message, calls: message.calls.filter(isOther) }));
  }
}
