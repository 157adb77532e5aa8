/** JSON texts whose numbers are kept exactly. */

/**
 * The digits from which on a whole number is written with an exponent when a number of JavaScript is written as text: with as many digits
 * or more, a rounded value cannot be told from `1e30`.
 */
const manyDigits = /\d{22}/;

/** A whole number of a text with more digits than a number of JavaScript keeps. */
export class InexactNumber extends Error {
  override readonly name = "InexactNumber";
}

/**
 * The value of a JSON text, as from `JSON.parse`.
 * @throws SyntaxError as `JSON.parse`; `InexactNumber` for a whole number of more than 21 digits. Smaller whole numbers that were rounded
 * are whole numbers beyond ±(2^53−1), which the types of fields refuse.
 */
export function parseJsonText(text: string): unknown {
  if (!manyDigits.test(text)) return JSON.parse(text);
  // The engine gives the text of a value as a third argument, which the types of TypeScript lack.
  const refuse = (...[, value, context]: readonly unknown[]): unknown => {
    const source = typeof value === "number" ? (context as { source?: string } | undefined)?.source : undefined;
    if (source === undefined || !/^-?\d{22,}$/.test(source)) return value;
    const start = `${source.slice(0, 30)}${source.length > 30 ? "…" : ""}`;
    throw new InexactNumber(`The whole number ${start} has more than 21 digits, and cannot be kept exactly`);
  };
  return JSON.parse(text, refuse);
}
