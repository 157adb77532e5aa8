/** JSON with the numbers as the file writes numbers: an id of 18 digits and a price of 0.10 stay what the file has. */
import type { JsonValue } from "@socle/protocol";

/** A number that JavaScript writes otherwise, or cannot hold. */
export class WrittenNumber {
  readonly text: string;
  readonly value: number;

  constructor(text: string, value: number) {
    this.text = text;
    this.value = value;
  }

  /** Keeps the digits in JSON, where the browser can. */
  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    return rawJSON?.(this.text) ?? this.value;
  }
}

/** A value with `WrittenNumber` at any depth. */
export type ExactValue = JsonValue | WrittenNumber | readonly ExactValue[] | { readonly [name: string]: ExactValue };

/** Strings, and numbers outside of strings. */
const tokens = /"(?:[^"\\]+|\\[\s\S])*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/g;
/** No string of a file begins so. `crypto.randomUUID` is missing on pages without HTTPS. */
const mark = `number ${crypto.getRandomValues(new Uint32Array(4)).join("-")} `;

/** @throws SyntaxError. */
export function parseExact(text: string): ExactValue {
  let isMarked = false;
  const marked = text.replace(tokens, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    isMarked = true;
    return `"${mark}${token}"`;
  });
  if (!isMarked) return JSON.parse(text) as JsonValue;
  return JSON.parse(marked, (_name, value: ExactValue): ExactValue => {
    if (typeof value !== "string" || !value.startsWith(mark)) return value;
    const written = value.slice(mark.length);
    return new WrittenNumber(written, Number(written));
  }) as ExactValue;
}

/** The value for a `json` field; undefined if a number cannot be kept exactly: see "json" in docs/collections.md. */
export function plainJson(value: ExactValue): JsonValue | undefined {
  const isKept = (number: number): boolean =>
    Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
  if (value instanceof WrittenNumber) return isKept(value.value) ? value.value : undefined;
  if (typeof value === "number") return isKept(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(plainJson);
    return items.includes(undefined) ? undefined : (items as JsonValue[]);
  }
  const members = Object.entries(value).map(([name, each]) => [name, plainJson(each)] as const);
  return members.some(([, each]) => each === undefined) ? undefined : (Object.fromEntries(members) as JsonValue);
}
