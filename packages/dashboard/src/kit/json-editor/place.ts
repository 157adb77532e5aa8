/**
 * The place of the first error in a JSON text. Engines tell it each in its own words, or not at all; the grammar of the
 * editor tells it always.
 */
import { jsonLanguage } from "@codemirror/lang-json";

export interface Place {
  readonly offset: number;
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

/** The place of an offset in a text. */
function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  return { offset, line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** Null where the text is JSON, or empty: then there is no value. */
export function jsonErrorPlace(text: string): Place | null {
  if (text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch {
    let offset: number | null = null;
    jsonLanguage.parser.parse(text).iterate({
      enter: ({ type, from }) => {
        if (type.isError && offset === null) offset = from;
        return offset === null;
      },
    });
    // An error that the grammar does not see is in a string or a number.
    return placeOf(text, offset ?? text.length);
  }
}
