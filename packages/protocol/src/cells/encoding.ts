/** The encoding of a text file. Names are those of the Encoding Standard, which calls Latin-1 `windows-1252`. */

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** Bytes at the beginning of a file that `encodingOf` looks at. */
const looked = 2_000;

/**
 * The encoding that the first bytes of a file tell: a byte order mark decides; without a mark, zero bytes show UTF-16. Any other file
 * is UTF-8, or has bytes that UTF-8 has not: a decoder with `fatal` finds the bytes, wherever the bytes stand.
 */
export function encodingOf(bytes: Uint8Array): Exclude<Encoding, "windows-1252"> {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const first = bytes.subarray(0, looked);
  const zeros = [0, 0];
  for (const [i, byte] of first.entries()) if (byte === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (odd > first.length / 8 && odd > even) return "utf-16le";
  return even > first.length / 8 && even > odd ? "utf-16be" : "utf-8";
}
