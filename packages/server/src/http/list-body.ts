import type { RecordPages } from "../records/index.ts";

const opening = '{"items":[';
const ending = "]}";
const comma = 0x2c;

/**
 * The body of a list. A short one is one text. A long one is a stream that holds one page at a time: (1) the opening and
 * the first page, (2) each later page when the client has taken the one before, (3) the ending. When a page cannot be
 * read the stream breaks off, so that no client takes a part for the whole.
 */
export function listBody(pages: RecordPages): string | ReadableStream<Uint8Array> {
  const { first, rest } = pages;
  if (rest === null) return JSON.stringify({ items: first });
  const encoder = new TextEncoder();
  let weight = 0;
  let isOpen = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isOpen) {
          isOpen = true;
          const chunk = encoder.encode(opening + JSON.stringify(first).slice(1, -1));
          weight = chunk.byteLength;
          controller.enqueue(chunk);
          return;
        }
        const page = await rest.next(weight);
        if (page.done === true) {
          controller.enqueue(encoder.encode(ending));
          controller.close();
          return;
        }
        // The array's brackets go in the bytes, which spares two copies of the text: "[" becomes ",", "]" is left out.
        const chunk = encoder.encode(JSON.stringify(page.value));
        chunk[0] = comma;
        weight = chunk.byteLength;
        controller.enqueue(chunk.subarray(0, -1));
      },
      async cancel() {
        await rest.return();
      },
    },
    { highWaterMark: 1 },
  );
}
