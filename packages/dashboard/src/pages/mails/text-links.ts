/** The links in the text of a mail. */

interface TextPart {
  /** The place in the text. */
  readonly at: number;
  readonly value: string;
  readonly isLink: boolean;
}

/** A punctuation mark at the end belongs to the sentence, not to the link. */
const link = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]]/g;

/** The text in parts: links, and the words between the links. */
export function partsOf(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  const add = (at: number, value: string, isLink: boolean): void => {
    if (value !== "") parts.push({ at, value, isLink });
  };
  for (const { index, 0: found } of text.matchAll(link)) {
    add(end, text.slice(end, index), false);
    add(index, found, true);
    end = index + found.length;
  }
  add(end, text.slice(end), false);
  return parts;
}
