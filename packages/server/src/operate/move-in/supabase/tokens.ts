/** Tokens of PostgreSQL's SQL, as pg_dump writes statements, and a cursor that reads the tokens. */

export interface Token {
  readonly kind: "quoted" | "text" | "number" | "name" | "sign";
  /** Without quotes and escapes; a name without quotes in lower case. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const pattern =
  /\s+|--[^\n]*|(?<quoted>"(?:[^"]|"")*")|(?<text>E'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*')|(?<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w))|(?<name>[\p{L}_][\p{L}\p{N}_$]*)|(?<sign>::|<=|>=|<>|!=|[\s\S])/gu;

function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (const { 0: all, index: start, groups = {} } of sql.matchAll(pattern)) {
    const end = start + all.length;
    const { quoted, text, number, name, sign } = groups;
    if (quoted !== undefined) tokens.push({ kind: "quoted", text: all.slice(1, -1).replaceAll('""', '"'), start, end });
    else if (text !== undefined) tokens.push({ kind: "text", text: textOf(all), start, end });
    else if (number !== undefined) tokens.push({ kind: "number", text: all, start, end });
    else if (name !== undefined) tokens.push({ kind: "name", text: all.toLowerCase(), start, end });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: all, start, end });
  }
  return tokens;
}

const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The text of a literal with its quotes: `'it''s'`, `E'it\\'s'`. @throws SqlError for a byte by its number. */
export function textOf(literal: string): string {
  const inner = literal.slice(literal.indexOf("'") + 1, -1);
  if (!literal.startsWith("E")) return inner.replaceAll("''", "'");
  return inner.replace(/''|\\(?:u[\da-fA-F]{4}|U[\da-fA-F]{8}|.)/gs, (all) => {
    const sign = all.charAt(1);
    if (/[uU]/.test(sign) && all.length > 2) return String.fromCodePoint(Number.parseInt(all.slice(2), 16));
    if (/[0-7xuU]/.test(sign)) throw new SqlError(`unexpected ${all}`);
    return escapes[sign] ?? sign;
  });
}

/** A statement or a condition of a form that the reader does not know. */
export class SqlError extends Error {}

export class Cursor {
  readonly sql: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(sql: string) {
    this.sql = sql;
    this.#tokens = tokensOf(sql);
  }

  get next(): Token | undefined {
    return this.#tokens[this.#at];
  }

  /** The token, which the cursor passes. @throws SqlError at the end. */
  any(): Token {
    const token = this.next;
    if (token === undefined) throw this.error();
    this.#at += 1;
    return token;
  }

  /** Whether the next token is a word or a sign: a word in lower case. */
  is(word: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.text === word && (token.kind === "name" || token.kind === "sign");
  }

  /** Passes some words, in this order, or none of the words. */
  take(...words: readonly string[]): boolean {
    const isThere = words.every((word, i) => this.is(word, i));
    if (isThere) this.#at += words.length;
    return isThere;
  }

  /** @throws SqlError for another token. */
  need(...words: readonly string[]): void {
    if (!this.take(...words)) throw this.error();
  }

  error(): SqlError {
    const { next } = this;
    return new SqlError(`unexpected ${next === undefined ? "end" : this.sql.slice(next.start, next.end)}`);
  }

  name(): string {
    const token = this.any();
    if (token.kind !== "name" && token.kind !== "quoted") throw this.error();
    return token.text;
  }

  /** A name with its schema: `public.posts`. */
  qualified(): string {
    const first = this.name();
    return this.take(".") ? `${first}.${this.name()}` : first;
  }

  /** Names in parentheses. */
  names(): string[] {
    this.need("(");
    const found = [this.name()];
    while (this.take(",")) found.push(this.name());
    this.need(")");
    return found;
  }

  /** Passes tokens up to a word outside of parentheses, or the end. Answers the text. */
  until(...words: readonly string[]): string {
    const start = this.next?.start ?? 0;
    let end = start;
    for (let depth = 0; this.next !== undefined; ) {
      if (depth === 0 && words.some((word) => this.is(word))) break;
      if (this.is("(") || this.is("[")) depth += 1;
      if (this.is(")") || this.is("]")) depth -= 1;
      ({ end } = this.any());
    }
    return this.sql.slice(start, end);
  }

  /** Passes what stands in parentheses. Answers the text between the parentheses. */
  inside(): string {
    this.need("(");
    const text = this.until(")");
    this.need(")");
    return text;
  }
}
