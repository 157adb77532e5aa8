/**
 * Log output: writes the lines of the log to a file descriptor. A reader that stops must not stop the
 * service, so a line is never written by the event loop itself: a thread writes, and the bytes that wait for it are
 * bounded. Lines beyond the bound are dropped and counted, and the log says how many once the reader goes on.
 */
import { write } from "node:fs";

/** Bytes that may wait. */
const maxWaiting = 1024 * 1024;
/** Bytes that one write takes at most. */
const maxWrite = 64 * 1024;

export interface LogOutputOptions {
  /** The file descriptor: 1 is standard output. */
  readonly descriptor: number;
  /** The line that says how many were dropped. */
  readonly droppedLine: (count: number) => string;
}

export class LogOutput {
  readonly #options: LogOutputOptions;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #dropped = 0;
  #isWriting = false;
  #whenDrained: (() => void)[] = [];

  constructor(options: LogOutputOptions) {
    this.#options = options;
  }

  /** Takes a line with its newline. Never waits, never throws. */
  add(line: string): void {
    if (this.#bytes > maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#put(line);
    this.#next();
  }

  /** Resolves when everything is written, or after `withinMs`. */
  drained(withinMs: number): Promise<void> {
    if (!this.#isWriting) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenDrained.push(resolve);
    return Promise.race([promise, Bun.sleep(withinMs)]);
  }

  #put(line: string): void {
    const bytes = Buffer.from(line);
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
  }

  #next(): void {
    if (this.#isWriting) return;
    if (this.#waiting.length === 0 && this.#dropped > 0) {
      const count = this.#dropped;
      this.#dropped = 0;
      this.#put(this.#options.droppedLine(count));
    }
    if (this.#waiting.length === 0) {
      for (const resolve of this.#whenDrained.splice(0)) resolve();
      return;
    }
    const bytes = this.#take();
    this.#isWriting = true;
    write(this.#options.descriptor, bytes, (error, written) => {
      this.#isWriting = false;
      // Without a reader (EPIPE) or a place on the disk there is nobody to tell: these lines are lost, and counted.
      if (error !== null) this.#dropped += 1;
      else if (written < bytes.length) this.#giveBack(bytes.subarray(written));
      if (error !== null && this.#waiting.length === 0) this.#forget();
      else this.#next();
    });
  }

  /** The waiting bytes that one write takes. */
  #take(): Buffer {
    let bytes = 0;
    let count = 0;
    for (const line of this.#waiting) {
      if (count > 0 && bytes + line.length > maxWrite) break;
      bytes += line.length;
      count += 1;
    }
    const taken = Buffer.concat(this.#waiting.splice(0, count));
    this.#bytes -= taken.length;
    return taken;
  }

  #giveBack(rest: Buffer): void {
    this.#waiting.unshift(rest);
    this.#bytes += rest.length;
  }

  /** After an error with nothing else to write: tried again with the next line, not in a circle. */
  #forget(): void {
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }
}
