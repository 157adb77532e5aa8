/** The inbox of a socket: frames that came while an earlier one is being followed, bounded in bytes, for one socket and for all. */

/** Bytes of frames that may wait in one socket. */
const perSocket = 256 * 1024;

/** Bytes of frames that may wait in all sockets. */
const inAll = 32 * 1024 ** 2;

/** Bytes that a frame takes in memory beside its text, about. */
const frameBytes = 64;

/** The bytes that wait in the inboxes of all sockets. */
export interface InboxTotal {
  bytes: number;
}

export class Inbox {
  readonly #total: InboxTotal;
  readonly #frames: string[] = [];
  #bytes = 0;

  constructor(total: InboxTotal) {
    this.#total = total;
  }

  /** Takes a frame; answers false when there is no room for it. */
  put(frame: string): boolean {
    const bytes = frame.length + frameBytes;
    if (this.#bytes + bytes > perSocket || this.#total.bytes + bytes > inAll) return false;
    this.#frames.push(frame);
    this.#count(bytes);
    return true;
  }

  /** The oldest frame. */
  take(): string | undefined {
    const frame = this.#frames.shift();
    if (frame !== undefined) this.#count(-frame.length - frameBytes);
    return frame;
  }

  clear(): void {
    this.#frames.length = 0;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#total.bytes += bytes;
  }
}
