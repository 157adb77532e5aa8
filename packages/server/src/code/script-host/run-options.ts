/** The exports of a script file: the options timeout and retries, and the advice for a file without a handler. */
import { count, isObject, nearest, quote } from "../../base/kernel/index.ts";

/** The most attempts after the first. */
const maxRetries = 100;
const shortestMs = 100;
const longestMs = 24 * 3_600_000;

const units: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The value of the export `name`. @throws Error for a value that is no object, and for an unknown key. */
export function parseOptions(
  value: unknown,
  known: readonly string[],
  name = "options",
): { readonly [name: string]: unknown } {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new Error(`${name} must be an object, not ${quote(value)}`);
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    throw new Error(
      `${name}.${key} is unknown; ${near === null ? `allowed: ${known.join(", ")}` : `did you mean ${near}?`}`,
    );
  }
  return value;
}

/** `options.timeout`: milliseconds, or a text like "5s". Answers milliseconds. @throws Error. */
export function parseTimeout(value: unknown, fallback: number): number {
  if (value === undefined || value === null) return fallback;
  const [, amount, unit] = typeof value === "string" ? (/^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/.exec(value.trim()) ?? []) : [];
  const ms = typeof value === "number" ? value : Number(amount) * (units[unit ?? ""] ?? Number.NaN);
  if (ms >= shortestMs && ms <= longestMs) return ms;
  throw new Error(
    `options.timeout: ${quote(value)} is not valid; allowed: milliseconds from ${shortestMs}, or a text such as "5s" or "2m", 24h at most`,
  );
}

/** `options.retries`: how often a run that failed is tried again. @throws Error that names the key. */
export function parseRetries(value: unknown, fallback: number, key = "options.retries"): number {
  if (value === undefined || value === null) return fallback;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxRetries) return value;
  throw new Error(`${key}: ${quote(value)} is not valid; allowed: a whole number from 0 to ${maxRetries}`);
}

/** Advice for a file with functions `names`, without an allowed name. */
export function exportAdvice(names: readonly string[], allowed: readonly string[]): string {
  for (const name of names) {
    if (name === "default") return "; its default export is not one of them";
    const near = nearest(name, allowed);
    if (near !== null) return `; did you mean ${near} instead of ${name}?`;
  }
  return names.length === 0 ? "" : `; the file has ${count(names.length, "other function")}`;
}
