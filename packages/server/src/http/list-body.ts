import { nextTurn } from "../kernel/index.ts";
import type { RecordPages } from "../records/index.ts";

const encoder = new TextEncoder();
const comma = 0x2c;

/**
 * The body of a long list, in pieces: (1) the opening and the first page, (2) each later page, (3) the ending. It holds
 * one page at a time, and what has gone already as long as that is not more than `keepable` bytes.
 * @param onWhole called with the whole body, once it has gone, if it was that small.
 */
export async function* piecesOf(
  { first, rest }: RecordPages,
  keepable: number,
  onWhole: (body: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void, void> {
  const gone = new Pieces(keepable);
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
  } finally {
    await rest?.return();
  }
  const ending = encoder.encode("]}");
  gone.add(ending);
  const whole = gone.whole();
  if (whole !== null) onWhole(whole);
  yield ending;
}

/** Collects pieces, until they are too many bytes. */
class Pieces {
  readonly #limit: number;
  #pieces: Uint8Array[] | null = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(piece: Uint8Array): void {
    this.#bytes += piece.byteLength;
    if (this.#bytes > this.#limit) this.#pieces = null;
    // What was yielded is the receiver's.
    else this.#pieces?.push(piece.slice());
  }

  whole(): Uint8Array | null {
    return this.#pieces === null ? null : Buffer.concat(this.#pieces);
  }
}
