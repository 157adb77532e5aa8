/** Bodies in pieces over a link: the sender sends no more than the receiver has room for, and both sides may give up. */
import type { FrameSink } from "../../base/channel/index.ts";
import { kinds } from "./frames.ts";

/** Bytes that may be under way. */
const windowBytes = 256 * 1024;
const partBytes = 64 * 1024;

/** The sending side of a body. */
export class SentBody {
  readonly #link: FrameSink;
  readonly #id: number;
  #room = windowBytes;
  #wake: (() => void) | null = null;
  #cancel: () => Promise<void> = async () => undefined;
  #isOver = false;

  constructor(link: FrameSink, id: number) {
    this.#link = link;
    this.#id = id;
  }

  /** Sends a body to the end. A body that breaks off is an `abort` for the receiver. Never rejects. Answers whether the body was complete. */
  async send(body: ReadableStream<Uint8Array>): Promise<boolean> {
    const reader = body.getReader();
    this.#cancel = () => reader.cancel();
    try {
      for (let next = await reader.read(); !next.done && !this.#isOver; next = await reader.read())
        await this.#sendPiece(next.value);
      if (this.#isOver) return false;
      this.#isOver = true;
      this.#link.send({ kind: kinds.end, id: this.#id });
      return true;
    } catch {
      // The side that made the body has logged the failure, or the client has gone.
      if (!this.#isOver) this.#link.send({ kind: kinds.abort, id: this.#id });
      this.#isOver = true;
      return false;
    }
  }

  async #sendPiece(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.byteLength; at += partBytes) {
      while (this.#room <= 0 && !this.#isOver)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      if (this.#isOver) return;
      const part = piece.subarray(at, at + partBytes);
      this.#room -= part.byteLength;
      this.#link.send({ kind: kinds.piece, id: this.#id, body: part });
    }
  }

  /** The receiver has taken bytes. */
  taken(bytes: number): void {
    this.#room += bytes;
    this.#wake?.();
  }

  /** The receiver has given up: the source of the body is told. */
  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#wake?.();
    // A source that fails at the end has no reader any more.
    this.#cancel().catch(() => undefined);
  }
}

/** The receiving side of a body: a stream that is asked for each piece. */
export class ReceivedBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #pieces: Uint8Array[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #isAsked = false;
  #hasEnded = false;
  readonly #link: FrameSink;
  readonly #id: number;

  /** @param onCancel called when the receiver has given up before the end. */
  constructor(link: FrameSink, id: number, onCancel: () => void) {
    this.#link = link;
    this.#id = id;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isAsked = true;
          this.#give();
        },
        cancel: () => {
          this.#controller = null;
          this.#pieces.length = 0;
          onCancel();
        },
      },
      { highWaterMark: 0 },
    );
  }

  add(piece: Uint8Array): void {
    // A copy: the frames that arrived with the piece are freed.
    this.#pieces.push(piece.slice());
    this.#give();
  }

  end(): void {
    this.#hasEnded = true;
    this.#give();
  }

  /** The sender has given up. */
  fail(reason: Error): void {
    const controller = this.#controller;
    this.#controller = null;
    controller?.error(reason);
  }

  #give(): void {
    const controller = this.#controller;
    if (controller === null) return;
    const piece = this.#isAsked ? this.#pieces.shift() : undefined;
    if (piece !== undefined) {
      this.#isAsked = false;
      this.#link.send({ kind: kinds.taken, id: this.#id, head: String(piece.byteLength) });
      controller.enqueue(piece);
    } else if (this.#hasEnded && this.#pieces.length === 0) {
      this.#controller = null;
      controller.close();
    }
  }
}
