/** Tokens: the text of a filter in pieces, with the places of the pieces. */

export const comparisons = ["=", "!=", ">", ">=", "<", "<=", "~", "!~"] as const;
export type Comparison = (typeof comparisons)[number];

type Sign = Comparison | "&&" | "||" | "!" | "(" | ")" | "," | "[" | "]" | "." | "*";

/** The text of a filter does not follow the grammar. */
export class FilterSyntaxError extends Error {
  override readonly name = "FilterSyntaxError";
  /** The place of the problem in the text, from 0. */
  readonly offset: number;
  /** The problem, without the place. */
  readonly problem: string;

  constructor(offset: number, problem: string) {
    super(`at position ${offset + 1}: ${problem}`);
    this.offset = offset;
    this.problem = problem;
  }
}

/** A piece of a filter's text; `offset` is the place of the first character, from 0, and `end` the place behind the last. */
export type Token = Piece & { readonly end: number };

type Piece = { readonly offset: number } & (
  | { readonly type: "symbol"; readonly symbol: Sign }
  | { readonly type: "text"; readonly value: string }
  /** With `unit`, the metres of a length, such as `5km`. */
  | { readonly type: "number"; readonly value: number; readonly unit?: LengthUnit }
  /** A path of names, or a word of the language. */
  | { readonly type: "path"; readonly names: readonly string[] }
  /** `+ 7d` or `- 90m` after a time, in milliseconds. */
  | { readonly type: "offset"; readonly ms: number; readonly text: string }
  /** `@now`, `@user.id`, …, without the `@`. A path behind `@record` is a token of its own, behind a dot. */
  | { readonly type: "macro"; readonly name: string }
  | { readonly type: "end" }
);

/** No alternative may be the beginning of a later alternative. */
const symbol = /&&|\|\||>=|<=|!=|!~|[=><~!(),[\].*]/y;
const space = /\s*/y;
const length = /(-?\d+(?:\.\d+)?)(km|m)(?![\p{L}\p{N}_.])/uy;
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_.])/uy;
/** Names of fields are narrower; members of JSON have names of many alphabets, with dashes. */
const path = /[\p{L}_$][\p{L}\p{N}_$-]*(?:\.[\p{L}_$][\p{L}\p{N}_$-]*)*/uy;
const name = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const macro = /@(record(?![\p{L}\p{N}_$-])|[A-Za-z][A-Za-z.]*)?/uy;
const offsetPattern = /([+-])\s*(\d{1,9})([smhdw])(?![\p{L}\p{N}_.])/uy;
const string = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/suy;

/** The units of a length, in metres. */
const lengths = { km: 1_000, m: 1 } as const;
export type LengthUnit = keyof typeof lengths;

/** The units of an offset, in milliseconds. */
const units: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const maxShift = 1_000 * 365 * 86_400_000;

/** The escapes of JSON, and an escape for the other quote. */
const escapes: { readonly [letter: string]: string } = {
  ...{ n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" },
  ...{ "\\": "\\", "/": "/", '"': '"', "'": "'" },
};

/** Whether a text can be a name of a path. */
export function isName(text: string): boolean {
  return name.test(text);
}

/** The longest quotation in a message, in characters. */
const longestQuote = 60;

/** A value as quoted in messages: JSON, cut to a readable length. */
function quote(value: string | number): string {
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, longestQuote + 1) : value);
  // The cut may leave half of a surrogate pair.
  return text.length <= longestQuote ? text : `${text.slice(0, longestQuote - 3).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Operators of other languages, and the operator of filters for each operator. */
const hints: { readonly [text: string]: string } = {
  "==": 'write "="',
  "<>": 'write "!="',
  "&": 'write "&&"',
  "|": 'write "||"',
  "!>": "write !(a > b)",
};

function matchAt(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(text);
}

function readString(literal: string, offset: number): string {
  const value = literal
    .slice(1, -1)
    .replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gsu, (whole, code: string, letter: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      const plain = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
      if (plain !== undefined) return plain;
      const allowed = `allowed are \\" \\' \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits`;
      throw new FilterSyntaxError(offset, `the text has ${whole}, which is no escape; ${allowed}`);
    });
  if (!value.isWellFormed() || value.includes("\0"))
    throw new FilterSyntaxError(offset, "a text must be Unicode text without NUL and lone surrogates");
  return value;
}

function unexpected(text: string, offset: number): FilterSyntaxError {
  const start = text.slice(offset);
  if (start.startsWith('"') || start.startsWith("'"))
    return new FilterSyntaxError(offset, `this text has no end; expected ${start.slice(0, 1)}`);
  const odd = /^(?:==|<>|!>|-?\d[\p{L}\p{N}_.]*|.)/su.exec(start)?.[0] ?? "";
  if (/^-?\d/.test(odd)) return new FilterSyntaxError(offset, `${quote(odd)} is no number, and no length in m or km`);
  const hint = Object.hasOwn(hints, odd) ? `; ${hints[odd]}` : "";
  return new FilterSyntaxError(offset, `${quote(odd)} means nothing here${hint}`);
}

function tokenAt(text: string, offset: number): { token: Piece; end: number } {
  const begun = text[offset] ?? "";
  const literal = begun === '"' || begun === "'" ? matchAt(string, text, offset) : null;
  if (literal !== null) {
    const value = readString(literal[0], offset);
    return { token: { type: "text", value, offset }, end: string.lastIndex };
  }
  const shift = matchAt(offsetPattern, text, offset);
  if (shift !== null) {
    const [whole, sign, amount, unit = ""] = shift;
    const ms = Number(amount) * (units[unit] ?? 0) * (sign === "-" ? -1 : 1);
    if (Math.abs(ms) > maxShift) throw new FilterSyntaxError(offset, `${quote(whole)} is more than 1,000 years`);
    return { token: { type: "offset", ms, text: whole, offset }, end: offsetPattern.lastIndex };
  }
  const measured = matchAt(length, text, offset);
  if (measured !== null) {
    const [, digits, unit] = measured;
    // The pattern matches these units alone.
    const of = unit as LengthUnit;
    return { token: { type: "number", value: Number(digits) * lengths[of], unit: of, offset }, end: length.lastIndex };
  }
  const digits = matchAt(number, text, offset);
  if (digits !== null) {
    const value = Number(digits[0]);
    if (!Number.isFinite(value)) throw new FilterSyntaxError(offset, `${quote(digits[0])} is too large for a number`);
    return { token: { type: "number", value, offset }, end: number.lastIndex };
  }
  const names = matchAt(path, text, offset);
  if (names !== null) return { token: { type: "path", names: names[0].split("."), offset }, end: path.lastIndex };
  const word = matchAt(macro, text, offset);
  if (word !== null) return { token: { type: "macro", name: word[1] ?? "", offset }, end: macro.lastIndex };
  const isForeign = /^(?:==|<>|!>)/.test(text.slice(offset, offset + 2));
  const sign = isForeign ? null : matchAt(symbol, text, offset);
  // The pattern matches symbols alone.
  if (sign !== null) return { token: { type: "symbol", symbol: sign[0] as Sign, offset }, end: symbol.lastIndex };
  throw unexpected(text, offset);
}

/**
 * The pieces of a filter; the last piece is the end.
 * @throws FilterSyntaxError for a piece that means nothing, for example a text without an end.
 */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  while (true) {
    matchAt(space, text, offset);
    offset = space.lastIndex;
    if (offset >= text.length) {
      tokens.push({ type: "end", offset, end: offset });
      return tokens;
    }
    const { token, end } = tokenAt(text, offset);
    tokens.push({ ...token, end });
    offset = end;
  }
}

/** A number as written in a filter, for a message. */
export function showNumber({ value, unit }: { value: number; unit?: LengthUnit | undefined }): string {
  return unit === undefined ? quote(value) : `${value / lengths[unit]}${unit}`;
}

/** A token as in an error message. */
export function show(token: Token): string {
  switch (token.type) {
    case "symbol":
      return `"${token.symbol}"`;
    case "path":
      return quote(token.names.join("."));
    case "macro":
      return quote(`@${token.name}`);
    case "offset":
      return quote(token.text);
    case "number":
      return showNumber(token);
    case "end":
      return "the end";
    default:
      return quote(token.value);
  }
}
