/** Numbers as people type numbers. A number is accepted only without loss of digits; until then the typed text stays. */

export type NumberProblem = "notANumber" | "decimalComma" | "notWhole" | "tooLarge";

export type ParsedNumber =
  /** `isExact` is false when a float keeps fewer digits than the typed text. */
  { readonly value: number; readonly isExact: boolean } | { readonly problem: NumberProblem };

const decimalPattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;

/** The digits and the exponent of a decimal number without its leading and trailing zeros: `12.50` is 125 × 10^-1. */
function decimalOf(text: string): { readonly digits: string; readonly exponent: number } | null {
  const match = decimalPattern.exec(text);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = "", power = "0"] = match;
  const all = `${whole}${fraction}`;
  if (all === "") return null;
  const kept = all.replace(/0+$/, "");
  const digits = kept.replace(/^0+/, "");
  if (digits === "") return { digits, exponent: 0 };
  const exponent = Number(power) - fraction.length + all.length - kept.length;
  return { digits: `${sign === "-" ? sign : ""}${digits}`, exponent };
}

/** Reads a number of the field's type. Spaces around the number do not count; the empty text is no number. */
export function parseNumber(text: string, type: "integer" | "float"): ParsedNumber {
  // Minus signs of other keyboards and of pasted texts.
  const trimmed = text.trim().replace(/^[−–]/, "-");
  const decimal = decimalOf(trimmed);
  if (decimal === null)
    return { problem: type === "float" && /^[+-]?\d+,\d+$/.test(trimmed) ? "decimalComma" : "notANumber" };
  const value = Number(trimmed);
  if (type === "integer") {
    if (decimal.exponent < 0) return { problem: "notWhole" };
    if (!Number.isSafeInteger(value)) return { problem: "tooLarge" };
    return { value: value === 0 ? 0 : value, isExact: true };
  }
  if (!Number.isFinite(value)) return { problem: "tooLarge" };
  const stored = decimalOf(String(value));
  const isExact = decimal.digits === stored?.digits && decimal.exponent === stored.exponent;
  return { value: value === 0 ? 0 : value, isExact };
}

/** A number a step further, within the bounds of the field; null when the number would not be exact. */
export function stepNumber(
  value: number,
  step: number,
  { min, max }: { min?: number | undefined; max?: number | undefined },
): number | null {
  // Sums of floats would show digits that the user did not type: 0.1 + 1 = 1.1, not 1.1000000000000001.
  const sum = Number((value + step).toPrecision(15));
  const next = Number.isSafeInteger(value) ? value + step : sum;
  if (Math.abs(next) > Number.MAX_SAFE_INTEGER) return null;
  return Math.min(Math.max(next, min ?? Number.NEGATIVE_INFINITY), max ?? Number.POSITIVE_INFINITY);
}
