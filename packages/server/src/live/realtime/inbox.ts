/** The inbox of a socket: frames that wait for their turn, bounded in bytes, for each socket and for all sockets. */

/** Bytes of frames that may wait in a socket. */
const perSocket = 256 * 1024;

/** Bytes of frames that may wait in all sockets. */
const inAll = 32 * 1024 ** 2;

/** Bytes that a frame takes in memory beside its text, about. */
const frameBytes = 64;

/** The inboxes of all sockets, and the sum of their bytes. */
export class Inboxes {
  readonly #capacity: number;
  /** The inboxes with frames. */
  readonly #waiting = new Set<Inbox>();
  #bytes = 0;

  constructor(capacity = inAll) {
    this.#capacity = capacity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** An inbox has grown or shrunk by some bytes. */
  count(inbox: Inbox, change: number): void {
    this.#bytes += change;
    if (inbox.bytes > 0) this.#waiting.add(inbox);
    else this.#waiting.delete(inbox);
  }

  /** Ends the sockets with the fullest inboxes until the rest is within the bound; never that of `spared`. */
  shrink(spared: Inbox | null): void {
    while (this.#bytes > this.#capacity) {
      let fullest: Inbox | null = null;
      for (const inbox of this.#waiting)
        if (inbox !== spared && (fullest === null || inbox.bytes > fullest.bytes)) fullest = inbox;
      if (fullest === null) return;
      fullest.overflow();
    }
  }
}

export class Inbox {
  readonly #all: Inboxes;
  readonly #onOverflow: () => void;
  readonly #frames: string[] = [];
  #bytes = 0;

  /** @param onOverflow is to end the socket: more has come than may wait. */
  constructor(all: Inboxes, onOverflow: () => void) {
    this.#all = all;
    this.#onOverflow = onOverflow;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes a frame. An empty inbox always has room: when all are full, the socket with the fullest inbox is ended instead,
   * so that a flood does not close the sockets of others.
   */
  put(frame: string): void {
    const bytes = frame.length + frameBytes;
    const isFirst = this.#frames.length === 0;
    if (!isFirst && this.#bytes + bytes > perSocket) {
      this.overflow();
      return;
    }
    this.#frames.push(frame);
    this.#count(bytes);
    this.#all.shrink(isFirst ? this : null);
  }

  /** The oldest frame. */
  take(): string | undefined {
    const frame = this.#frames.shift();
    if (frame !== undefined) this.#count(-frame.length - frameBytes);
    return frame;
  }

  /** Ends the socket. */
  overflow(): void {
    this.clear();
    this.#onOverflow();
  }

  clear(): void {
    this.#frames.length = 0;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#all.count(this, bytes);
  }
}
