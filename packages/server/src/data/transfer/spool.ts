/** Spooled files: the body of a request on disk, to be read several times. The file has no name, and is gone with the request. */
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { AppError, messageOf } from "../../base/kernel/index.ts";
import type { OpenFile } from "./import.ts";

const pieceBytes = 256 * 1024;

interface SpoolOptions {
  readonly folder: string;
  /** Bytes of a file. */
  readonly maxBytes: number;
}

/**
 * Reads a stream to the end, and lends the content.
 * @throws AppError `payload_too_large`, `unavailable` when the disk refuses the file.
 */
export async function withSpooled<T>(
  content: AsyncIterable<Uint8Array>,
  { folder, maxBytes }: SpoolOptions,
  use: (open: OpenFile) => Promise<T>,
): Promise<T> {
  const path = join(folder, `.import-${crypto.randomUUID()}`);
  await using file = await refusable(() => open(path, "wx+", 0o600));
  rmSync(path);
  let size = 0;
  for await (const piece of content) {
    if (size + piece.byteLength > maxBytes)
      throw new AppError("payload_too_large", `The file is larger than ${maxBytes} bytes (limits.import).`);
    for (let at = 0; at < piece.byteLength; )
      at += (await refusable(() => file.write(piece, at, piece.byteLength - at, size + at))).bytesWritten;
    size += piece.byteLength;
  }
  return await use(async function* () {
    for (let at = 0; at < size; ) {
      const { buffer, bytesRead } = await file.read(new Uint8Array(pieceBytes), 0, pieceBytes, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  });
}

async function refusable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw new AppError("unavailable", `The file cannot be kept on the disk: ${messageOf(thrown)}`, { cause: thrown });
  }
}
