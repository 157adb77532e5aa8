/**
 * Started attempts: before a script process calls a handler, the process writes the number of the attempt into its slot of a
 * small file. The service reads the slot while attempts wait for their start, and when the process is lost: an endless loop, or
 * the end of the process, cannot hide the start of an attempt, and a start costs no message.
 */
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../base/kernel/index.ts";

/** The bytes of a place: the number twice, so that an entry that is half written has two different numbers. */
const placeBytes = 16;
/** More processes than a machine can have. */
const places = 4_096;
/** The descriptor that a script process has for the file, behind standard input, output and error. */
const childDescriptor = 3;

/** The file of a script host. The file has no name, so nothing is left of the file after any end of the service. */
export class StartedAttemptsFile {
  readonly #descriptor: number;
  readonly #free = Array.from({ length: places }, (_, i) => i * placeBytes);
  #state: "open" | "closing" | "closed" = "open";

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /**
   * @param path beside the database. The name is gone at once; a power cut can bring the name back, and the next `open` takes that file.
   * Where nothing can be written there, the file is in the system's folder for temporary files. @throws Error where neither folder takes a file.
   */
  static open(path: string): StartedAttemptsFile {
    try {
      return new StartedAttemptsFile(openNameless(path));
    } catch {
      return new StartedAttemptsFile(openNameless(join(tmpdir(), `.begun-${crypto.randomUUID()}`)));
    }
  }

  /** Starts a process with a place, which the process has until its end. @throws Error after `close`, and what `start` throws. */
  give<P extends { readonly exited: Promise<unknown> }>(start: (place: StartedAttemptSlot) => P): P {
    const offset = this.#free.pop();
    if (offset === undefined || this.#state !== "open") throw new Error("No further process can start");
    const leave = (): void => {
      this.#free.push(offset);
      this.#closeIfUnused();
    };
    const place = new StartedAttemptSlot(this.#descriptor, offset);
    try {
      const process = start(place);
      void process.exited.then(() => {
        place.end();
        leave();
      });
      return process;
    } catch (thrown) {
      leave();
      throw thrown;
    }
  }

  /** No process starts any more. The file is closed when the last process has ended. */
  close(): void {
    if (this.#state === "open") this.#state = "closing";
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (this.#state !== "closing" || this.#free.length < places) return;
    this.#state = "closed";
    closeSync(this.#descriptor);
  }
}

/** Opens a file that is written whole, so that a note needs no room on a disk that is full by then. @throws Error. */
function openNameless(path: string): number {
  const descriptor = openSync(path, "w+", 0o600);
  try {
    writeWhole(descriptor, new Uint8Array(places * placeBytes), 0);
    return descriptor;
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  } finally {
    unlinkSync(path);
  }
}

/** The service's end of the place of a process. */
export class StartedAttemptSlot {
  readonly descriptor: number;
  readonly offset: number;
  readonly #entry = new Float64Array(2);
  #number = 0;
  #isOver = false;

  constructor(descriptor: number, offset: number) {
    this.descriptor = descriptor;
    this.offset = offset;
    writeWhole(descriptor, new Uint8Array(placeBytes), offset);
  }

  /** The number of the last attempt that has begun; 0 before the first. After the end of the process, the last number. */
  get number(): number {
    if (this.#isOver) return this.#number;
    readSync(this.descriptor, this.#entry, 0, placeBytes, this.offset);
    const [number = 0, again] = this.#entry;
    // The handler of a half-written entry has not begun.
    if (number === again) this.#number = Math.max(this.#number, number);
    return this.#number;
  }

  /** The process has ended: the last number is kept, and another process may get the place. */
  end(): void {
    this.#number = this.number;
    this.#isOver = true;
  }
}

/** The process's end of its place. */
export class StartedAttemptWriter {
  readonly #offset: number;
  readonly #entry = new Float64Array(2);

  constructor(offset: number) {
    this.#offset = offset;
  }

  /** To be called before the handler of an attempt is called. @throws Error; the handler must not be called then. */
  write(attempt: number): void {
    this.#entry.fill(attempt);
    try {
      writeWhole(childDescriptor, this.#entry, this.#offset);
    } catch (cause) {
      throw new Error(`The begin of the handler cannot be noted: ${messageOf(cause)}`, { cause });
    }
  }
}

function writeWhole(descriptor: number, bytes: Uint8Array | Float64Array, offset: number): void {
  const written = writeSync(descriptor, bytes, 0, bytes.byteLength, offset);
  if (written < bytes.byteLength) throw new Error(`Only ${written} of ${bytes.byteLength} bytes could be written`);
}
