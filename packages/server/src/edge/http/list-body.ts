/** Body of a long list, streamed page by page, and collected for the cache on its way out. */
import { nextTurn } from "../../base/kernel/index.ts";
import type { LaterPages, RecordPages } from "../../data/queries/index.ts";
import type { Pieces } from "./answer-stream.ts";

const encoder = new TextEncoder();
const comma = 0x2c;

/** Collects the pieces of a body that may be kept. */
export interface Collecting {
  /** Whether so many more bytes have room. */
  take(bytes: number): boolean;
  /** Gives back all taken room. */
  release(): void;
  /** Called with the whole body, once the body has gone. */
  keep(body: Uint8Array): void;
}

/** The beginning of a long list's body: the opening and the first page. */
export function openingOf({ first }: RecordPages): Uint8Array {
  return encoder.encode(`{"items":${JSON.stringify(first).slice(0, -1)}`);
}

/**
 * The body of a long list, in pieces: (1) the opening, (2) each later page, (3) the ending. The body holds a page at a
 * time, and the sent pages as long as `collecting` has room; null collects nothing. A generator would not do: the
 * frame of a waiting generator would keep the sent pages in memory.
 */
export class ListPieces implements Pieces {
  #opening: Uint8Array | null;
  readonly #rest: LaterPages;
  /** Null once the body is too large to be kept. */
  #collecting: Collecting | null;
  #sent: Uint8Array[] = [];
  #hasEnded = false;

  constructor(opening: Uint8Array, rest: LaterPages, collecting: Collecting | null) {
    this.#opening = opening;
    this.#rest = rest;
    this.#collecting = collecting;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#hasEnded) return this.return();
    const piece = this.#opening ?? (await this.#page());
    this.#opening = null;
    this.#collect(piece);
    if (this.#hasEnded) this.#collecting?.keep(Buffer.concat(this.#sent));
    return { done: false, value: piece };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true;
    this.#opening = null;
    this.#forget();
    await this.#rest.return();
    return { done: true, value: undefined };
  }

  async #page(): Promise<Uint8Array> {
    await nextTurn();
    const page = await this.#rest.next();
    if (page.done === true) {
      this.#hasEnded = true;
      return encoder.encode("]}");
    }
    // The array's brackets go in the bytes, which spares two copies of the text: "[" becomes ",", "]" is left out.
    const piece = encoder.encode(JSON.stringify(page.value));
    piece[0] = comma;
    return piece.subarray(0, -1);
  }

  #collect(piece: Uint8Array): void {
    if (this.#collecting === null) return;
    // A copy: the yielded bytes belong to the receiver.
    if (this.#collecting.take(piece.byteLength)) this.#sent.push(piece.slice());
    else this.#forget();
  }

  #forget(): void {
    this.#collecting?.release();
    this.#collecting = null;
    this.#sent = [];
  }
}
