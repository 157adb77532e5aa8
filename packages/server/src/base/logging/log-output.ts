/**
 * Log output: writes the lines of the log to a file descriptor. A reader that stops must not stop the service, so the
 * event loop never waits for a write. Lines wait in a bounded buffer until the descriptor takes the bytes. Only lines
 * that come while the buffer is full are dropped; the next line that fits comes after a line with the number of dropped lines.
 */
import { fstatSync, write } from "node:fs";

/** Bytes that may wait. */
const maxWaiting = 4 * 1024 * 1024;
/** Bytes that one write takes, unless a single line is longer. */
const maxWrite = 64 * 1024;
/** At the end of the process, a reader that takes nothing for this time is not waited for. */
const stalledMs = 500;
/** The longest that the end of the process waits for a slow reader. */
const longestDrainMs = 5_000;

export interface LogOutputOptions {
  /** The file descriptor: 1 is standard output. */
  readonly descriptor: number;
  /** The line that says how many lines were dropped. */
  readonly droppedLine: (count: number) => string;
}

/** Writes bytes, and resolves with how many were written. */
type Write = (bytes: Buffer) => Promise<number>;

export class LogOutput {
  readonly #options: LogOutputOptions;
  #write: Write;
  #lines: string[] = [];
  /** The bytes that are being written, or that an error has kept for the next try. */
  #current = Buffer.alloc(0);
  /** Bytes of `#lines` and `#current`. */
  #bytes = 0;
  #dropped = 0;
  /** Grows with every write that succeeds. */
  #written = 0;
  #writing: Promise<void> | null = null;

  constructor(options: LogOutputOptions) {
    this.#options = options;
    this.#write = writerOf(options.descriptor);
  }

  /** Takes a line with the newline. Never waits, never throws. */
  add(line: string): void {
    if (this.#bytes > maxWaiting) this.#dropped += 1;
    else {
      this.#reportDropped();
      this.#put(line);
    }
    this.#writing ??= this.#writeAll();
  }

  /** To be called before the process ends. Resolves when everything is written, or when the reader has stopped. */
  async drained(): Promise<void> {
    const end = performance.now() + longestDrainMs;
    while (this.#writing !== null && performance.now() < end) {
      const before = this.#written;
      await Promise.race([this.#writing, Bun.sleep(stalledMs)]);
      if (this.#written === before) return;
    }
  }

  #put(line: string): void {
    this.#lines.push(line);
    this.#bytes += Buffer.byteLength(line);
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    this.#put(this.#options.droppedLine(this.#dropped));
    this.#dropped = 0;
  }

  /** Writes until nothing waits. After an error the bytes stay, and the next line tries again. */
  async #writeAll(): Promise<void> {
    try {
      while (this.#next()) {
        const written = await this.#write(this.#current);
        this.#current = this.#current.subarray(written);
        this.#bytes -= written;
        this.#written += written;
      }
    } catch {
      // The reader is gone (EPIPE), or the disk is full. A new reader of a named pipe gets a writer without the old
      // error.
      this.#write = writerOf(this.#options.descriptor);
    }
    this.#writing = null;
  }

  /** Makes the bytes of the next write; false when nothing waits. */
  #next(): boolean {
    if (this.#current.length > 0) return true;
    if (this.#lines.length === 0) this.#reportDropped();
    let count = 0;
    for (let bytes = 0; count < this.#lines.length; count++) {
      bytes += Buffer.byteLength(this.#lines[count] ?? "");
      if (count > 0 && bytes > maxWrite) break;
    }
    this.#current = Buffer.from(this.#lines.splice(0, count).join(""));
    return count > 0;
  }
}

/**
 * The way to write to a descriptor. A pipe or socket is written without blocking, and a full pipe is waited for
 * (`FileSink`). A file or terminal can only be written with blocking calls, so a thread makes the calls.
 */
function writerOf(descriptor: number): Write {
  const stats = fstatSync(descriptor);
  if (!stats.isFIFO() && !stats.isSocket()) return (bytes) => writeOnThread(descriptor, bytes);
  const sink = Bun.file(descriptor).writer();
  return async (bytes) => {
    sink.write(bytes);
    await sink.flush();
    return bytes.length;
  };
}

function writeOnThread(descriptor: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, (error, written) => (error === null ? resolve(written) : reject(error)));
  });
}
