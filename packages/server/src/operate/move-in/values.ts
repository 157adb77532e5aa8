/** JSON of another service as a value that Socle takes. */
import type { JsonValue } from "@socle/protocol";
import type { Oddity } from "./source.ts";

const maxLevels = 100;

/** The levels of arrays and objects of a text of JSON. */
function levelsOf(text: string): number {
  let [level, most] = [0, 0];
  for (const [bracket] of text.replace(/"(?:[^"\\]|\\.)*"/g, "").matchAll(/[[{\]}]/g)) {
    level += bracket === "[" || bracket === "{" ? 1 : -1;
    most = Math.max(most, level);
  }
  return most;
}

/** @param mapped a text inside of the JSON as Socle takes the text. @throws SyntaxError. */
export function jsonOf(text: string, note: (oddity: Oddity) => void, mapped: (text: string) => string): JsonValue {
  if (levelsOf(text) > maxLevels) {
    note("JSON of more than 100 levels, which becomes a text");
    return text;
  }
  const revive = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === "string") return mapped(value);
    const isOdd =
      typeof value === "number" && !(Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value));
    if (!isOdd || (context?.source ?? "").length < 16) return value;
    note("a number in JSON that no double holds, which becomes a text");
    return context?.source ?? String(value);
  };
  return JSON.parse(text, revive);
}
