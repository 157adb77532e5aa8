/** JSON: objects, choices, text that is serialised already, and files with comments. */
import { readFileSync } from "node:fs";
import type { ParseError } from "jsonc-parser";
import { AppError, messageOf, SetupError } from "./app-error.ts";
import { releaseBytes } from "./released-memory.ts";
import { oneOf, quote } from "./text.ts";

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member of a body or query with a few allowed texts. @throws AppError `bad_request` for another value. */
export function readChoice<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  const choice = allowed.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw choiceError(name, value, allowed);
}

/** The error for another value than a few allowed texts. */
export function choiceError(name: string, value: unknown, allowed: readonly string[]): AppError {
  const given = value === undefined ? "; it is missing" : `, not ${quote(value)}`;
  return new AppError("bad_request", `"${name}" must be ${oneOf(allowed)}${given}.`);
}

/** A long text that a thread has made. The bytes reach the event loop without a copy, and the size is known. */
export interface LongText {
  /** UTF-8. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Another digest means another text. */
  readonly digest: string;
}

/** A value that is JSON already, so that several readers share the serialisation. */
export class JsonText {
  /** The text before the long part: without a long part, the whole text. */
  readonly start: string;
  readonly long: LongText | null;
  /** The text behind the long part. */
  readonly end: string;

  private constructor(start: string, long: LongText | null = null, end = "") {
    this.start = start;
    this.long = long;
    this.end = end;
  }

  static of(value: object): JsonText {
    return new JsonText(JSON.stringify(value));
  }

  /** Texts that together are JSON already. */
  static from(start: string, part: string | LongText = "", end = ""): JsonText {
    return typeof part === "string" ? new JsonText(start + part + end) : new JsonText(start, part, end);
  }

  get text(): string {
    return this.long === null ? this.start : `${this.start}${new TextDecoder().decode(this.long.bytes)}${this.end}`;
  }

  /** UTF-8; the long part is not copied. */
  get pieces(): Uint8Array[] {
    const encoder = new TextEncoder();
    return this.long === null
      ? [encoder.encode(this.start)]
      : [encoder.encode(this.start), this.long.bytes, encoder.encode(this.end)];
  }

  /** A copy of the whole JSON in UTF-8. */
  get bytes(): Uint8Array {
    return this.long === null ? new TextEncoder().encode(this.start) : Buffer.concat(this.pieces);
  }

  /** Frees the long part of a JSON that nobody is answered. */
  free(): void {
    if (this.long !== null) releaseBytes(this.long.bytes);
  }

  /** A text that is another when the JSON is another. */
  get mark(): string {
    return this.long === null ? this.start : `${this.start}${this.long.digest}${this.end}`;
  }
}

/**
 * Reads a file that a person writes: JSON, with comments and trailing commas allowed.
 * @throws SetupError naming the file and, for a syntax error, the line.
 */
export async function readJsonFile(path: string): Promise<unknown> {
  let text: string;
  try {
    // Some editors write a byte order mark, which is no JSON.
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (thrown) {
    throw new SetupError(`${path}: cannot be read: ${messageOf(thrown)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = await parseWithComments(path, text);
  }
  const doubled = doubledKey(text);
  if (doubled !== null)
    throw new SetupError(
      `${path}: the key ${quote(doubled.key)} stands twice in an object, again in line ${doubled.line}`,
    );
  return value;
}

/** The first key that an object of a JSON text has twice, with the line; a parser keeps the last value without a word. */
function doubledKey(text: string): { key: string; line: number } | null {
  const objects: (Set<string> | null)[] = [];
  let last = "";
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[{}[\]:]/g)) {
    const keys = objects.at(-1);
    if (token === "{" || token === "[") objects.push(token === "{" ? new Set() : null);
    else if (token === "}" || token === "]") objects.pop();
    else if (token.startsWith('"')) last = JSON.parse(token);
    else if (token !== ":") continue;
    else if (keys?.has(last) === true) return { key: last, line: text.slice(0, index).split("\n").length };
    else keys?.add(last);
  }
  return null;
}

/** The parser is loaded for a file with comments only: the parser costs a megabyte of memory. */
async function parseWithComments(path: string, text: string): Promise<unknown> {
  const { parse, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) {
    if (hasForeignPrototype(value)) throw new SetupError(`${path}: the key "__proto__" is not allowed`);
    return value;
  }
  const line = text.slice(0, first.offset).split("\n").length;
  // "ColonExpected" → "colon expected".
  const words = printParseErrorCode(first.error).replace(/([a-z])([A-Z])/g, "$1 $2");
  throw new SetupError(`${path}: is not JSON: ${words.toLowerCase()} in line ${line}`);
}

/** For the key `__proto__`, which plain JSON treats like any other key, this parser sets the prototype. */
function hasForeignPrototype(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasForeignPrototype);
  if (!isObject(value)) return false;
  return Object.getPrototypeOf(value) !== Object.prototype || Object.values(value).some(hasForeignPrototype);
}
