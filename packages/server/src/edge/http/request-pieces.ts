/** The body of a request in pieces, each read on demand, up to a limit. */
import { AppError } from "../../base/kernel/index.ts";
import type { BodyPieces } from "../../code/script-host/index.ts";

/**
 * @param limit bytes of the whole body.
 * Its `next` throws AppError `payload_too_large`, or `bad_request` for a body that breaks off.
 */
export function piecesOfBody(body: ReadableStream<Uint8Array>, limit: number): BodyPieces {
  const reader = body.getReader();
  let bytes = 0;
  return {
    async next() {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new AppError("bad_request", "The body broke off.", { cause });
      });
      if (done || value === undefined) return { done: true, value: undefined };
      bytes += value.byteLength;
      if (bytes > limit) {
        void reader.cancel().catch(() => undefined);
        throw new AppError("payload_too_large", `The body is larger than ${limit} bytes.`);
      }
      return { done: false, value };
    },
    async return() {
      await reader.cancel().catch(() => undefined);
    },
  };
}
