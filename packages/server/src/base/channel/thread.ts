/** Threads with a channel: the end of the owner, and the end of the thread. */
import { Channel, type ChannelMessage } from "./channel.ts";

declare const self: Worker;

interface ThreadOptions<Ours> {
  /** The thread in messages of errors, for example `The database thread`. */
  readonly name: string;
  /** The handlers of the owner. */
  readonly ours: Readonly<Ours>;
  /** Whether the thread gets a small heap. */
  readonly isSmall?: boolean;
}

/** The owner's end of the channel to a thread, which is started. The thread keeps the process alive only while a call waits. */
export class Thread<Theirs extends object, Ours extends object = object> extends Channel<Theirs, Ours> {
  readonly #worker: Worker;
  readonly #name: string;
  readonly #gone = Promise.withResolvers<void>();
  /** Calls and `close` that wait for the thread. */
  #waits = 0;

  /** @param entry the module of the thread (`threadEntry`), which calls `ownerChannel`. */
  constructor(entry: string, { name, ours, isSmall = false }: ThreadOptions<Ours>) {
    const worker = new Worker(entry, { smol: isSmall, ref: false });
    super((message, transfer) => worker.postMessage(message, transfer), ours);
    this.#worker = worker;
    this.#name = name;
    worker.onmessage = ({ data }: MessageEvent<ChannelMessage>) => this.receive(data);
    worker.onerror = ({ message }) => this.end(new Error(`${name} failed: ${message}`));
    // A thread can also end without an error.
    worker.addEventListener("close", () => {
      this.#gone.resolve();
      this.end(new Error(`${name} has ended`));
    });
  }

  override call: Channel<Theirs, Ours>["call"] = (...args) => this.#alive(super.call(...args));

  /** Ends the thread, which runs to its next return to the event loop. Calls are rejected with `reason`. */
  override end(reason: Error): void {
    if (this.ended !== null) return;
    super.end(reason);
    this.#worker.terminate();
  }

  /** Ends the thread. Resolves when the thread is gone; never rejects. */
  close(): Promise<void> {
    this.end(new Error(`${this.#name} has ended`));
    return this.#alive(this.#gone.promise);
  }

  async #alive<T>(wait: Promise<T>): Promise<T> {
    this.#waits += 1;
    this.#worker.ref();
    try {
      return await wait;
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) this.#worker.unref();
    }
  }
}

/** The thread's end of the channel to the owner. */
export function ownerChannel<Theirs extends object, Ours extends object>(ours: Readonly<Ours>): Channel<Theirs, Ours> {
  const channel = new Channel<Theirs, Ours>((message, transfer) => self.postMessage(message, transfer), ours);
  self.onmessage = ({ data }: MessageEvent<ChannelMessage>) => channel.receive(data);
  return channel;
}
