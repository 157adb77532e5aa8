/** The encoding of a text file: detected from its first bytes, and used to read the file piece by piece. */

const ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
/** Names of the Encoding Standard, which calls Latin-1 `windows-1252`. */
export type Encoding = (typeof ENCODINGS)[number];

/** Bytes for the detection of the encoding. */
export const sampleBytes = 1_048_576;

const pieceBytes = 262_144;

/** The byte order mark decides. Without a mark, zero bytes show UTF-16, and bytes that are not valid UTF-8 are Latin-1. */
export function detectEncoding(bytes: Uint8Array): Encoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const zeros = [0, 0];
  const looked = Math.min(bytes.length, 2_000);
  for (let i = 0; i < looked; i++) if (bytes[i] === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (odd > looked / 8 && odd > even) return "utf-16le";
  if (even > looked / 8 && even > odd) return "utf-16be";
  try {
    // The sample may cut its last character: a decoder with `stream` accepts this.
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

export interface TextPiece {
  readonly text: string;
  readonly isLast: boolean;
  /** Start and end of the piece, in bytes of the file. */
  readonly from: number;
  readonly to: number;
}

/** Reads the text of a file piece by piece, on demand. A byte order mark is left out. */
export async function* readText(file: Blob, encoding: Encoding): AsyncGenerator<TextPiece, void> {
  const decoder = new TextDecoder(encoding);
  for (let from = 0; from < file.size || from === 0; from += pieceBytes) {
    const to = Math.min(file.size, from + pieceBytes);
    const isLast = to >= file.size;
    const text = decoder.decode(await file.slice(from, to).arrayBuffer(), { stream: !isLast });
    yield { text, isLast, from, to };
    if (isLast) return;
  }
}
