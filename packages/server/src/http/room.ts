/** Room: a bound on bytes in memory, the share of each caller in it, and the queue before it. */
import { callerGone } from "../kernel/index.ts";

interface Wanted {
  /** By whom the share is counted; null where none is. */
  readonly caller: string | null;
  readonly bytes: number;
}

interface Waiting extends Wanted {
  readonly start: () => void;
}

/**
 * Counts bytes and lets others wait for them. One caller has at most half of a bound. Bytes beyond the bound go alone.
 */
export class Room {
  readonly #limitFor: (bytes: number) => number;
  readonly #byCaller = new Map<string, number>();
  #waiting: Waiting[] = [];
  #bytes = 0;

  /** @param limitFor the bound, in bytes, for something of so many bytes. */
  constructor(limitFor: (bytes: number) => number) {
    this.#limitFor = limitFor;
  }

  /** Bytes that count now. */
  get bytes(): number {
    return this.#bytes;
  }

  get waiting(): readonly Wanted[] {
    return this.#waiting;
  }

  /** Whether there is room when shares are left out. */
  fits(bytes: number): boolean {
    return fits(this.#bytes, bytes, this.#limitFor(bytes));
  }

  has({ caller, bytes }: Wanted): boolean {
    if (!this.fits(bytes)) return false;
    return caller === null || fits(this.#byCaller.get(caller) ?? 0, bytes, this.#limitFor(bytes) / 2);
  }

  /** Counts bytes, also beyond the bound; fewer than zero give them back. */
  add({ caller, bytes }: Wanted): void {
    this.#bytes += bytes;
    if (caller === null) return;
    const own = (this.#byCaller.get(caller) ?? 0) + bytes;
    if (own === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, own);
  }

  /** Starts those that wait and have room, oldest first. To be called when bytes were given back. */
  serve(): void {
    // One that starts counts at once, and may leave no room for the next.
    for (const entry of [...this.#waiting]) if (this.has(entry)) entry.start();
  }

  /**
   * Waits for room, and answers the result of `begin` once there is some: `begin` has to count the bytes.
   * @param options `patience` ends the wait with its error after its milliseconds; null waits for ever.
   * @throws AppError of a caller that has gone, or that of `patience`.
   */
  wait<T>(
    { caller, bytes, signal }: Wanted & { signal: AbortSignal },
    begin: () => T,
    patience: { ms: number; error: () => Error } | null,
  ): Promise<T> {
    if (signal.aborted) return Promise.reject(callerGone());
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        this.#waiting = this.#waiting.filter((each) => each !== entry);
      };
      const fail = (error: Error): void => {
        end();
        reject(error);
      };
      const leave = (): void => fail(callerGone());
      const start = (): void => {
        end();
        resolve(begin());
      };
      const timer = patience === null ? undefined : setTimeout(() => fail(patience.error()), patience.ms);
      const entry: Waiting = { caller, bytes, start };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(entry);
    });
  }
}

function fits(taken: number, bytes: number, limit: number): boolean {
  return taken === 0 || taken + bytes <= limit;
}
