/** Places in code inside an error or a stack: "functions/posts/notify.ts:8:38". */

interface TextPart {
  /** The offset of the part in the text. */
  readonly at: number;
  readonly value: string;
  readonly isPlace: boolean;
}

/** A path with an ending of a script, a line, and usually a column. An address with a port has no ending of a script. */
const place = /(?:[\w@.-]+\/)*[\w@.-]+\.[cm]?[jt]sx?:\d+(?::\d+)?/g;

/** The parts of the text, in order; the parts joined are the text again. */
export function partsOf(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const { 0: value, index } of text.matchAll(place)) {
    if (index > end) parts.push({ at: end, value: text.slice(end, index), isPlace: false });
    parts.push({ at: index, value, isPlace: true });
    end = index + value.length;
  }
  if (end < text.length) parts.push({ at: end, value: text.slice(end), isPlace: false });
  return parts;
}

/** Splits an error of the service into its message and the place in brackets at its end; the place is null when absent. */
export function splitPlace(error: string): { message: string; place: string | null } {
  const found = / \(((?:[\w@.-]+\/)*[\w@.-]+\.[cm]?[jt]sx?:\d+(?::\d+)?)\)\s*$/.exec(error);
  return found === null
    ? { message: error, place: null }
    : { message: error.slice(0, found.index), place: found[1] ?? null };
}
