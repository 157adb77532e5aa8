/** Talk: questions with answers, and messages without, over a link. The argument and the answer are plain data. */
import type { ErrorCode } from "@socle/protocol";
import { AppError, messageOf } from "../../base/kernel/index.ts";
import { kinds } from "./frames.ts";
import type { Link, LinkFrame } from "./link.ts";

/** The questions and messages that a side answers, by name. The signal is aborted when the asker has left. */
type Handlers<M> = { readonly [N in keyof M]: M[N] };
type AnyHandler = (argument: unknown, signal: AbortSignal) => unknown;
type ArgumentOf<H> = H extends (argument: infer A, signal: AbortSignal) => unknown ? A : never;
type ValueOf<H> = H extends (argument: never, signal: AbortSignal) => infer V ? Awaited<V> : never;

/** An error as plain data. */
interface PlainError {
  readonly message: string;
  /** Null for an error that is not for the caller. */
  readonly code: ErrorCode | null;
  readonly retryAfter?: number;
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** @typeParam Theirs the handlers of the other side; `Ours` the handlers of this side. */
export class Talk<Theirs, Ours extends object> {
  readonly #link: Link;
  readonly #ours: Handlers<Ours>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #answering = new Map<number, AbortController>();
  #nextId = 0;

  constructor(link: Link, ours: Handlers<Ours>) {
    this.#link = link;
    this.#ours = ours;
  }

  /** @throws the error of the other side; Error when the other process has ended. */
  ask<N extends keyof Theirs & string>(
    name: N,
    argument: ArgumentOf<Theirs[N]>,
    signal?: AbortSignal,
  ): Promise<ValueOf<Theirs[N]>> {
    if (this.#link.isClosed) return Promise.reject(new Error("The other process has ended"));
    const id = this.#nextId;
    this.#nextId = (id + 1) >>> 0;
    const { promise, resolve, reject } = Promise.withResolvers<ValueOf<Theirs[N]>>();
    this.#waiting.set(id, { resolve, reject });
    this.#link.send({ kind: kinds.ask, id, head: JSON.stringify([name, argument]) });
    signal?.addEventListener("abort", () => this.#link.send({ kind: kinds.leave, id }), { once: true });
    return promise;
  }

  tell<N extends keyof Theirs & string>(name: N, argument: ArgumentOf<Theirs[N]>): void {
    this.#link.send({ kind: kinds.tell, head: JSON.stringify([name, argument]) });
  }

  /** Takes a frame. Answers false for a frame of another kind. */
  take({ kind, id, head }: LinkFrame): boolean {
    if (kind === kinds.ask) void this.#answer(id, head);
    else if (kind === kinds.tell) {
      const [name, argument] = JSON.parse(head) as [string, unknown];
      this.#handler(name)(argument, AbortSignal.any([]));
    } else if (kind === kinds.reply) this.#replied(id, head);
    else if (kind === kinds.leave) this.#answering.get(id)?.abort();
    else return false;
    return true;
  }

  /** The other process has ended. */
  close(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error("The other process has ended"));
    this.#waiting.clear();
    for (const controller of this.#answering.values()) controller.abort();
  }

  #handler(name: string): AnyHandler {
    // The other side is the same executable.
    return (this.#ours as { readonly [name: string]: AnyHandler })[name] as AnyHandler;
  }

  async #answer(id: number, head: string): Promise<void> {
    const [name, argument] = JSON.parse(head) as [string, unknown];
    const controller = new AbortController();
    this.#answering.set(id, controller);
    let reply: { value: unknown } | { error: PlainError };
    try {
      reply = { value: (await this.#handler(name)(argument, controller.signal)) ?? null };
    } catch (thrown) {
      reply = { error: plainError(thrown) };
    }
    this.#answering.delete(id);
    this.#link.send({ kind: kinds.reply, id, head: JSON.stringify(reply) });
  }

  #replied(id: number, head: string): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    const reply = JSON.parse(head) as { value: never } | { error: PlainError };
    if ("error" in reply) waiting?.reject(errorFrom(reply.error));
    else waiting?.resolve(reply.value);
  }
}

function plainError(thrown: unknown): PlainError {
  if (!(thrown instanceof AppError)) return { message: messageOf(thrown), code: null };
  const { message, code, retryAfter } = thrown;
  return { message, code, ...(retryAfter !== undefined && { retryAfter }) };
}

function errorFrom({ message, code, retryAfter }: PlainError): Error {
  if (code === null) return new Error(message);
  return new AppError(code, message, retryAfter === undefined ? {} : { retryAfter });
}
