import { nextTurn } from "../kernel/index.ts";
import type { RecordPages } from "../records/index.ts";
import type { Exchange } from "./exchange.ts";

const encoder = new TextEncoder();
const comma = 0x2c;

/** (1) The opening and the first page, (2) each later page, (3) the ending. It holds one page at a time. */
async function* pieces({ first, rest }: RecordPages): AsyncGenerator<Uint8Array, void, void> {
  const opening = encoder.encode(`{"items":${JSON.stringify(first).slice(0, -1)}`);
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
      yield piece.subarray(0, -1);
    }
  } finally {
    await rest?.return();
  }
  yield encoder.encode("]}");
}

/** Answers a list: a short one at once, a long one as a stream. */
export function answerList(exchange: Exchange, pages: RecordPages): Response {
  return pages.rest === null ? exchange.json(200, { items: pages.first }) : exchange.stream(200, pieces(pages));
}
