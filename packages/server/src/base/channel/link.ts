/**
 * Link: frames between two processes, over a pair of Unix sockets that the start of a process makes. Frames of a turn of the event loop
 * leave with one write, and arrive in order. A channel is a kind of the frames.
 */
import type { Socket, SocketHandler } from "bun";
import { Channel, type ChannelMessage } from "./channel.ts";

/** Bytes of a frame before the head: length of the rest, kind, id, length of the head. */
const prefixBytes = 13;
/** The first size of the buffer of frames that wait, and the size beyond which an empty buffer is given back. */
const usualBuffer = 64 * 1024;
const largestKept = 1024 ** 2;

/** A frame: a kind, the id of an exchange of frames, JSON, and bytes. */
export interface LinkFrame {
  readonly kind: number;
  readonly id: number;
  /** JSON, or "". */
  readonly head: string;
  readonly body: Uint8Array;
}

/** A frame to send: without id, head or body, 0, "" and no bytes. */
interface SentFrame {
  readonly kind: number;
  readonly id?: number;
  readonly head?: string;
  readonly body?: Uint8Array | string;
}

export interface LinkListener {
  onFrame(frame: LinkFrame): void;
  /** A frame could not be handled: the error of `onFrame`. Further frames of the same bytes are dropped. */
  onError(thrown: unknown): void;
  /** Called once: the other process has ended, or `end` was called. */
  onClosed(): void;
}

const noBytes = new Uint8Array();

/** Takes the frames that are sent. */
export type FrameSink = Pick<Link, "send">;

export class Link {
  readonly #listener: LinkListener;
  #socket: Socket | null = null;
  #isClosed = false;
  /** Frames that wait: the bytes from `#start` to `#end`. */
  #out: Buffer = Buffer.allocUnsafeSlow(usualBuffer);
  #start = 0;
  #end = 0;
  #isDue = false;
  /** Whether the socket takes nothing until it drains. */
  #isFull = false;
  /** The beginning of a frame that has not arrived as a whole. */
  #rest: Buffer | null = null;
  readonly #flush = (): void => {
    this.#isDue = false;
    this.flush();
  };

  private constructor(listener: LinkListener) {
    this.#listener = listener;
  }

  /** @param descriptor an end of the pair of sockets, which belongs to the link from now on. */
  static async open(descriptor: number, listener: LinkListener): Promise<Link> {
    const link = new Link(listener);
    const socket: SocketHandler<undefined> = {
      data: (_socket, bytes) => link.#received(bytes),
      drain: () => {
        link.#isFull = false;
        link.flush();
      },
      close: () => link.end(),
      error: () => link.end(),
    };
    // The types of the runtime know no connection over a descriptor.
    const options: { fd: number; unix: string; socket: SocketHandler<undefined> } = {
      fd: descriptor,
      unix: "",
      socket,
    };
    link.#socket = await Bun.connect<undefined>(options);
    return link;
  }

  /** Sends a frame at the end of this turn, or with the next `flush`. Does nothing on a closed link. */
  send({ kind, id = 0, head = "", body = noBytes }: SentFrame): void {
    if (this.#isClosed) return;
    // A character of JavaScript takes three bytes at most.
    const room = prefixBytes + head.length * 3 + (typeof body === "string" ? body.length * 3 : body.byteLength);
    this.#makeRoom(room);
    const at = this.#end;
    const headBytes = this.#out.write(head, at + prefixBytes);
    const bodyAt = at + prefixBytes + headBytes;
    let bodyBytes = body.length;
    if (typeof body === "string") bodyBytes = this.#out.write(body, bodyAt);
    else this.#out.set(body, bodyAt);
    this.#out.writeUInt32LE(prefixBytes - 4 + headBytes + bodyBytes, at);
    this.#out.writeUInt8(kind, at + 4);
    this.#out.writeUInt32LE(id, at + 5);
    this.#out.writeUInt32LE(headBytes, at + 9);
    this.#end = bodyAt + bodyBytes;
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#flush);
  }

  /** Writes the frames that wait. */
  flush(): void {
    if (this.#isFull || this.#isClosed || this.#socket === null || this.#start === this.#end) return;
    const written = this.#socket.write(this.#out.subarray(this.#start, this.#end));
    if (written < 0) {
      this.end();
      return;
    }
    this.#start += written;
    this.#isFull = this.#start < this.#end;
    if (this.#isFull) return;
    this.#start = this.#end = 0;
    if (this.#out.byteLength > largestKept) this.#out = Buffer.allocUnsafeSlow(usualBuffer);
  }

  /** Closes the link. A second call does nothing. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket?.end();
    this.#rest = null;
    this.#listener.onClosed();
  }

  #makeRoom(bytes: number): void {
    if (this.#end + bytes <= this.#out.byteLength) return;
    const waiting = this.#out.subarray(this.#start, this.#end);
    const size = Math.max(this.#out.byteLength, usualBuffer);
    const isEnough = waiting.byteLength + bytes <= size / 2;
    const target = isEnough ? this.#out : Buffer.allocUnsafeSlow((waiting.byteLength + bytes) * 2);
    target.set(waiting, 0);
    this.#out = target;
    this.#end = waiting.byteLength;
    this.#start = 0;
  }

  #received(bytes: Buffer): void {
    const all = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (all.byteLength - at >= 4) {
      const end = at + 4 + all.readUInt32LE(at);
      if (end > all.byteLength) break;
      const headAt = at + prefixBytes;
      const bodyAt = headAt + all.readUInt32LE(at + 9);
      const frame = {
        kind: all.readUInt8(at + 4),
        id: all.readUInt32LE(at + 5),
        head: all.toString("utf8", headAt, bodyAt),
        body: all.subarray(bodyAt, end),
      };
      try {
        this.#listener.onFrame(frame);
      } catch (thrown) {
        // The runtime would end the connection, and drop the error.
        this.#listener.onError(thrown);
        return;
      }
      if (this.#isClosed) return;
      at = end;
    }
    this.#rest = at === all.byteLength ? null : all.subarray(at);
  }
}

/** A channel whose messages are the frames of a kind. */
export function channelOver<Theirs extends object, Ours extends object>(
  link: FrameSink,
  { kind, ours }: { readonly kind: number; readonly ours: Readonly<Ours> },
): Channel<Theirs, Ours> {
  return new Channel((message) => link.send({ kind, head: JSON.stringify(message) }), ours);
}

/** The message of a frame. */
export function messageIn({ head }: LinkFrame): ChannelMessage {
  // The other process is of the same executable.
  return JSON.parse(head) as ChannelMessage;
}
