/** Tokens of the filter language: the pieces of an expression's text, and values as the language writes them. */

export const comparisons = ["=", "!=", ">", ">=", "<", "<=", "~", "!~"] as const;
export type Comparison = (typeof comparisons)[number];

export type Literal = string | number | boolean | null;

export interface Token {
  /** `shift` is a time before or after: `- 7d`. */
  readonly type: "symbol" | "text" | "shift" | "number" | "path" | "macro";
  readonly text: string;
}

const space = /\s*/y;
const patterns: readonly (readonly [Token["type"], RegExp])[] = [
  ["text", /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/suy],
  ["shift", /[+-]\s*\d{1,9}[smhdw](?![\p{L}\p{N}_.])/uy],
  ["number", /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_.])/uy],
  ["path", /[\p{L}_$][\p{L}\p{N}_$-]*(?:\.[\p{L}_$][\p{L}\p{N}_$-]*)*/uy],
  ["macro", /@[A-Za-z][A-Za-z.]*/y],
  ["symbol", /&&|\|\||>=|<=|!=|!~|[=><~!(),[\].*]/y],
];

/** The pieces of a text, or null where one means nothing. */
export function tokensOf(text: string): Token[] | null {
  const tokens: Token[] = [];
  let offset = 0;
  while (true) {
    space.lastIndex = offset;
    space.exec(text);
    offset = space.lastIndex;
    if (offset >= text.length) return tokens;
    let token: Token | null = null;
    for (const [type, pattern] of patterns) {
      pattern.lastIndex = offset;
      const match = pattern.exec(text);
      if (match === null) continue;
      token = { type, text: match[0] };
      break;
    }
    if (token === null) return null;
    tokens.push(token);
    offset += token.text.length;
  }
}

/** A value as the language has it. Control characters stay as they are: the language takes them. */
export function writeLiteral(value: Literal): string {
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
}
