import * as z from "zod/mini";
import { Secret } from "../kernel/index.ts";

/** How the value of a key is written, in the file and in the environment. */
export interface ValueKind<T> {
  /** Accepts the value as the file has it, and answers it as the service uses it. */
  readonly schema: z.ZodMiniType<T>;
  /** Turns the text of an environment variable into what the file would have. */
  fromText(text: string): unknown;
  /** What is allowed, in the words of an error message. */
  readonly allowed: string;
}

function numberFromText(text: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}

export function wholeNumber(min: number, max: number): ValueKind<number> {
  return {
    schema: z.int().check(z.gte(min), z.lte(max)),
    fromText: numberFromText,
    allowed: `a whole number from ${min} to ${max}`,
  };
}

const booleanWords: { readonly [word: string]: boolean } = {
  true: true,
  "1": true,
  yes: true,
  on: true,
  false: false,
  "0": false,
  no: false,
  off: false,
};

export const boolean: ValueKind<boolean> = {
  schema: z.boolean(),
  fromText(text) {
    const word = text.trim().toLowerCase();
    return Object.hasOwn(booleanWords, word) ? booleanWords[word] : text;
  },
  allowed: "true or false (in the environment also 1, 0, yes, no, on, off)",
};

export const text: ValueKind<string> = {
  schema: z.string().check(z.minLength(1)),
  fromText: (value) => value,
  allowed: "a text that is not empty",
};

export function textOf<const T extends string>(values: readonly T[]): ValueKind<T> {
  return {
    schema: z.enum(values),
    fromText: (value) => values.find((candidate) => candidate.toLowerCase() === value.trim().toLowerCase()) ?? value,
    allowed: values.join(", "),
  };
}

export const email: ValueKind<string> = {
  schema: z.pipe(
    z.string().check(z.regex(/^\s*[^\s@]+@[^\s@]+\s*$/)),
    z.transform((value: string) => value.trim().toLowerCase()),
  ),
  fromText: (value) => value,
  allowed: "an email address",
};

export const secret: ValueKind<Secret> = {
  schema: z.pipe(
    z.string().check(z.minLength(1)),
    z.transform((value: string) => new Secret(value)),
  ),
  fromText: (value) => value,
  allowed: "a text that is not empty",
};

/** A list; in the environment its items are separated by commas. */
export const textList: ValueKind<string[]> = {
  schema: z.array(z.string().check(z.minLength(1))),
  fromText: (value) =>
    value
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  allowed: "a list of texts (in the environment: separated by commas)",
};

const durationUnits: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const durationPattern = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/;

function parseDuration(value: number | string): number {
  if (typeof value === "number") return value * 1_000;
  const [, amount, unit] = durationPattern.exec(value.trim()) ?? [];
  return Number(amount) * (durationUnits[unit ?? ""] ?? Number.NaN);
}

/** A span of time, at least `min` milliseconds; the service uses milliseconds. A bare number counts seconds. */
export function duration(min: number): ValueKind<number> {
  return {
    schema: z.pipe(
      z.union([z.number().check(z.gte(0)), z.string().check(z.regex(durationPattern))]),
      z.pipe(z.transform(parseDuration), z.number().check(z.gte(min), z.lte(3_153_600_000_000))),
    ),
    fromText: numberFromText,
    allowed: `a time such as "90s", "15m", "1h" or "30d"${min > 0 ? `, at least ${min / 1_000}s` : ", or 0"}`,
  };
}

const sizeUnits: { readonly [unit: string]: number } = { kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 };
const sizePattern = /^(\d+)\s*(KiB|MiB|GiB)$/i;

function parseSize(value: number | string): number {
  if (typeof value === "number") return value;
  const [, amount, unit] = sizePattern.exec(value.trim()) ?? [];
  return Number(amount) * (sizeUnits[(unit ?? "").toLowerCase()] ?? Number.NaN);
}

/** A size; the service uses bytes. */
export function size(min: number, max: number): ValueKind<number> {
  return {
    schema: z.pipe(
      z.union([z.int(), z.string().check(z.regex(sizePattern))]),
      z.pipe(z.transform(parseSize), z.int().check(z.gte(min), z.lte(max))),
    ),
    fromText: numberFromText,
    allowed: `a number of bytes from ${min} to ${max}, or a text such as "512KiB" or "2MiB"`,
  };
}
