/**
 * Channel: an end of a connection between two threads or processes, with typed calls and messages in both directions. The carrier
 * (messages of a thread, of a process, frames of a socket) takes the messages to the other end, whole and in order.
 */
import { errorFrom, type PlainError, plainError } from "./errors.ts";

/** A message of a channel: plain data. */
export type ChannelMessage =
  | readonly ["call", id: number, name: string, argument: unknown]
  | readonly ["answer", id: number, outcome: Outcome]
  /** The caller does not wait for the answer any more. */
  | readonly ["cancel", id: number]
  /** A message without an answer. */
  | readonly ["tell", name: string, argument: unknown];

/** The end of a call: the value of the handler, or the error. */
export type Outcome = { readonly value: unknown } | { readonly error: PlainError };

/** Takes a message to the other end. @param transfer goes to the other end without a copy, where the carrier can do so. @throws Error for a message that cannot be sent. */
type Send = (message: ChannelMessage, transfer: Bun.Transferable[]) => void;

type AnyHandler = (argument: unknown, signal: AbortSignal) => unknown;
type Argument<H> = H extends (argument: infer A, signal: AbortSignal) => unknown ? A : never;
type ValueOfHandler<H> = H extends (argument: never, signal: AbortSignal) => infer V ? ValueSent<Awaited<V>> : never;
type ValueSent<V> = V extends Transferred<infer T> ? T : V;

/** A value of a handler, with the buffers of the value that go to the other end without a copy. */
export class Transferred<V> {
  readonly value: V;
  readonly transfer: Bun.Transferable[];

  constructor(value: V, transfer: Bun.Transferable[]) {
    this.value = value;
    this.transfer = transfer;
  }
}

const neverAborted = new AbortController().signal;

/**
 * @typeParam Theirs the handlers of the other end, by name, and `Ours` the handlers of this end. A handler gets the argument of a
 * call or a message, and a signal that is aborted when the caller does not wait any more; arguments and values are plain data.
 */
export class Channel<Theirs extends object, Ours extends object> {
  readonly #send: Send;
  readonly #ours: Readonly<Ours>;
  readonly #waiting = new Map<number, PromiseWithResolvers<Outcome>>();
  readonly #answering = new Map<number, AbortController>();
  #lastId = 0;
  #end: Error | null = null;

  constructor(send: Send, ours: Readonly<Ours>) {
    this.#send = send;
    this.#ours = ours;
  }

  /** The reason of the end; null before. */
  get ended(): Error | null {
    return this.#end;
  }

  /** Whether a call waits for an answer. */
  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Calls a handler of the other end.
   * @param signal tells the other end that nobody waits any more; the call still ends with the answer of the handler.
   * @throws AppError and PeerError of the handler; the error of `end`; Error for an argument that cannot be sent.
   */
  async call<N extends keyof Theirs & string>(
    name: N,
    argument: Argument<Theirs[N]>,
    signal?: AbortSignal,
  ): Promise<ValueOfHandler<Theirs[N]>> {
    if (this.#end !== null) throw this.#end;
    this.#lastId += 1;
    const id = this.#lastId;
    const waiting = Promise.withResolvers<Outcome>();
    const cancel = (): void => this.#send(["cancel", id], []);
    this.#waiting.set(id, waiting);
    try {
      this.#send(["call", id, name, argument], []);
      if (signal?.aborted === true) cancel();
      signal?.addEventListener("abort", cancel, { once: true });
      // The other end is of the same executable.
      return resultOf(await waiting.promise) as ValueOfHandler<Theirs[N]>;
    } finally {
      this.#waiting.delete(id);
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Sends a message without an answer. Does nothing after the end. */
  tell<N extends keyof Theirs & string>(
    name: N,
    argument: Argument<Theirs[N]>,
    transfer: Bun.Transferable[] = [],
  ): void {
    if (this.#end === null) this.#send(["tell", name, argument], transfer);
  }

  /** Takes a message of the other end. A message after the end, and an answer that nobody waits for, are dropped. */
  receive(message: ChannelMessage): void {
    if (this.#end !== null) return;
    if (message[0] === "call") void this.#answer(message[1], message[2], message[3]);
    else if (message[0] === "tell") this.#handler(message[1])(message[2], neverAborted);
    else if (message[0] === "cancel") this.#answering.get(message[1])?.abort();
    else this.#waiting.get(message[1])?.resolve(message[2]);
  }

  /** The other end is gone, or nothing more is wanted of the other end: calls fail with `reason`, and handlers are told by their signals. */
  end(reason: Error): void {
    if (this.#end !== null) return;
    this.#end = reason;
    for (const { reject } of this.#waiting.values()) reject(reason);
    for (const controller of this.#answering.values()) controller.abort();
  }

  async #answer(id: number, name: string, argument: unknown): Promise<void> {
    try {
      const handler = this.#handler(name);
      const value = await handler(argument, handler.length < 2 ? neverAborted : this.#signalOf(id));
      if (value instanceof Transferred) this.#reply(id, { value: value.value }, value.transfer);
      else this.#reply(id, { value });
    } catch (thrown) {
      this.#reply(id, { error: plainError(thrown) });
    } finally {
      this.#answering.delete(id);
    }
  }

  /** The signal of a call. A signal costs more than the rest of a call, so only a handler with a second parameter gets one. */
  #signalOf(id: number): AbortSignal {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    return controller.signal;
  }

  #reply(id: number, outcome: Outcome, transfer: Bun.Transferable[] = []): void {
    if (this.#end === null) this.#send(["answer", id, outcome], transfer);
  }

  #handler(name: string): AnyHandler {
    const handlers = this.#ours as { readonly [name: string]: AnyHandler };
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (handler === undefined) throw new Error(`The channel has no handler ${name}`);
    return handler.bind(handlers);
  }
}

/** The outcome of work as plain data, as a call has the outcome. */
export function outcomeOf(work: () => unknown): Outcome {
  try {
    return { value: work() };
  } catch (thrown) {
    return { error: plainError(thrown) };
  }
}

/** @throws AppError or PeerError. */
export function resultOf(outcome: Outcome): unknown {
  if ("error" in outcome) throw errorFrom(outcome.error);
  return outcome.value;
}
