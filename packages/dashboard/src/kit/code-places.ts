/** Places in code inside an error or a stack: "functions/posts/notify.ts:8:38". */

export interface TextPart {
  /** Where the part begins in the text. */
  readonly at: number;
  readonly value: string;
  readonly isPlace: boolean;
}

/** A path with an ending of a script, a line, and usually a column. An address with a port has no such ending. */
const place = /(?:[\w@.-]+\/)*[\w@.-]+\.[cm]?[jt]sx?:\d+(?::\d+)?/g;

/** The text in parts, in order: put together they are the text again. */
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

/** An error as the service tells it: its message, and the place in brackets behind it, or null. */
export function splitPlace(error: string): { message: string; place: string | null } {
  const found = / \(((?:[\w@.-]+\/)*[\w@.-]+\.[cm]?[jt]sx?:\d+(?::\d+)?)\)\s*$/.exec(error);
  return found === null
    ? { message: error, place: null }
    : { message: error.slice(0, found.index), place: found[1] ?? null };
}
