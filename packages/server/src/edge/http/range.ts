/** Parser of the Range header (RFC 9110, 14.2). */
import type { ByteRange } from "../../files/storage/index.ts";

const form = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))\s*$/i;

/**
 * The part that a Range header asks for (RFC 9110, 14.2); null for the whole, also when the header makes no sense or
 * asks for several parts; "unsatisfiable" for a range beyond the end.
 */
export function parseRange(header: string | null, size: number): ByteRange | "unsatisfiable" | null {
  const [whole, from, to, last] = form.exec(header ?? "") ?? [];
  if (whole === undefined) return null;
  if (last !== undefined) {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(from);
  const end = to === undefined || to === "" ? size : Math.min(Number(to) + 1, size);
  if (to !== undefined && to !== "" && Number(to) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end };
}
