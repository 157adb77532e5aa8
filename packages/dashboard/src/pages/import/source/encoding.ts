/** The encoding of a text file: detected from its bytes, and used to read the file piece by piece. */
import { type Encoding, encodingOf } from "@socle/protocol/cells";

/** Bytes for the detection of the format. */
export const sampleBytes = 1_048_576;

const pieceBytes = 262_144;

/** The file has bytes that the encoding has not. */
export class WrongEncodingError extends Error {
  override readonly name = "WrongEncodingError";
}

/** A file that is not UTF-8 or UTF-16 is taken for Latin-1. All bytes are looked at: the first umlaut may come late. */
export async function detectEncoding(file: Blob): Promise<Encoding> {
  const found = encodingOf(new Uint8Array(await file.slice(0, sampleBytes).arrayBuffer()));
  if (found !== "utf-8") return found;
  try {
    for await (const _ of readText(file, found));
    return found;
  } catch (error) {
    if (error instanceof WrongEncodingError) return "windows-1252";
    throw error;
  }
}

interface TextPiece {
  readonly text: string;
  readonly isLast: boolean;
  /** Start and end of the piece, in bytes of the file. */
  readonly from: number;
  readonly to: number;
}

/** Reads the text of a file piece by piece, on demand. A byte order mark is left out. @throws WrongEncodingError. */
export async function* readText(file: Blob, encoding: Encoding): AsyncGenerator<TextPiece, void> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  for (let from = 0; from < file.size || from === 0; from += pieceBytes) {
    const to = Math.min(file.size, from + pieceBytes);
    const isLast = to >= file.size;
    const bytes = await file.slice(from, to).arrayBuffer();
    yield { text: decoded(decoder, bytes, isLast), isLast, from, to };
    if (isLast) return;
  }
}

function decoded(decoder: TextDecoder, bytes: ArrayBuffer, isLast: boolean): string {
  try {
    return decoder.decode(bytes, { stream: !isLast });
  } catch {
    throw new WrongEncodingError();
  }
}
