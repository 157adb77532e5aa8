import type { RecordPages } from "../records/index.ts";

const opening = '{"items":[';
const ending = "]}";

function joined(records: readonly object[]): string {
  const array = JSON.stringify(records);
  return array.slice(1, -1);
}

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
          const chunk = encoder.encode(opening + joined(first));
          weight = chunk.byteLength;
          controller.enqueue(chunk);
          // The generator runs up to its first page, which `next` asks for below.
          return;
        }
        const page = await rest.next(weight);
        if (page.done === true) {
          controller.enqueue(encoder.encode(ending));
          controller.close();
          return;
        }
        const chunk = encoder.encode(`,${joined(page.value)}`);
        weight = chunk.byteLength;
        controller.enqueue(chunk);
      },
      async cancel() {
        await rest.return();
      },
    },
    { highWaterMark: 1 },
  );
}
