import { nextTurn } from "../kernel/index.ts";
import type { RecordPages } from "../records/index.ts";

const encoder = new TextEncoder();
const comma = 0x2c;

/** Where the pieces of a body are collected that may be kept, as they go. */
export interface Collecting {
  /** Whether there is room for so many bytes more. */
  take(bytes: number): boolean;
  /** Gives back what was taken. */
  release(bytes: number): void;
  /** Called with the whole body, once it has gone. */
  keep(body: Uint8Array): void;
}

/**
 * The body of a long list, in pieces: (1) the opening and the first page, (2) each later page, (3) the ending. It holds
 * one page at a time, and what has gone already as long as `collecting` has room for it; null collects nothing.
 */
export async function* piecesOf(
  { first, rest }: RecordPages,
  collecting: Collecting | null,
): AsyncGenerator<Uint8Array, void, void> {
  const gone = new Pieces(collecting);
  const opening = encoder.encode(`{"items":${JSON.stringify(first).slice(0, -1)}`);
  gone.add(opening);
  let weight = opening.byteLength;
  try {
    // Whoever asks for the head alone goes after this piece.
    yield opening;
    while (rest !== null) {
      await nextTurn();
      const page = await rest.next(weight);
      if (page.done === true) break;
      // The array's brackets go in the bytes, which spares two copies of the text: "[" becomes ",", "]" is left out.
      const piece = encoder.encode(JSON.stringify(page.value));
      piece[0] = comma;
      weight = piece.byteLength;
      const inner = piece.subarray(0, -1);
      gone.add(inner);
      yield inner;
    }
    const ending = encoder.encode("]}");
    gone.add(ending);
    gone.keep();
    yield ending;
  } finally {
    gone.release();
    await rest?.return();
  }
}

/** Collects pieces, as long as there is room for them. */
class Pieces {
  readonly #collecting: Collecting | null;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isWhole = true;

  constructor(collecting: Collecting | null) {
    this.#collecting = collecting;
    this.#isWhole = collecting !== null;
  }

  add(piece: Uint8Array): void {
    if (!this.#isWhole) return;
    if (this.#collecting?.take(piece.byteLength) !== true) {
      this.release();
      return;
    }
    this.#bytes += piece.byteLength;
    // What was yielded is the receiver's.
    this.#pieces.push(piece.slice());
  }

  keep(): void {
    if (this.#isWhole) this.#collecting?.keep(Buffer.concat(this.#pieces));
  }

  release(): void {
    this.#collecting?.release(this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    this.#isWhole = false;
  }
}
