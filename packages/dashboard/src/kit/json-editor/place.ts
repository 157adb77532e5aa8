/**
 * The place of the first error in a JSON text. Each engine reports the place in its own words, or not at all; the grammar of
 * the editor always reports a place.
 */
import { jsonLanguage } from "@codemirror/lang-json";

/** Keys and places from the root of the JSON: ["fields", 2, "type"]. */
export type Path = readonly (string | number)[];

/** A mistake in the meaning of a JSON text. */
export interface Mistake {
  readonly path: Path;
  readonly message: string;
}

export interface Place {
  readonly offset: number;
  /** `line` and `column` count from 1. */
  readonly line: number;
  readonly column: number;
}

/** The place of an offset in a text. */
function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  return { offset, line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** Whether a text is JSON, or empty: an empty text holds no value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text.trim() === "";
  }
}

/** The place of the first error; null for a text that is JSON, or empty. */
export function jsonErrorPlace(text: string): Place | null {
  if (isJson(text)) return null;
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
