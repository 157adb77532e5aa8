/**
 * The filter language as text and as a tree: reads an expression, writes values. It follows the service's grammar and
 * looks up no names. Texts that it cannot read are null: the service says why, with the position.
 */

import {
  type Comparison,
  comparisons,
  type Literal,
  type Token,
  tokensOf,
  writeLiteral,
} from "../../../kit/expression/tokens.ts";

export type Operand =
  | { readonly type: "value"; readonly value: Literal }
  /** `@now`, `@today` or `@user.id`, with the `@`. */
  | { readonly type: "macro"; readonly name: string };

export type Tree =
  | { readonly type: "and" | "or"; readonly items: readonly Tree[] }
  | { readonly type: "not" | "group"; readonly item: Tree }
  | { readonly type: "compare"; readonly path: string; readonly operator: Comparison; readonly right: Operand }
  | { readonly type: "in"; readonly path: string; readonly items: readonly Operand[] };

const macros = ["@now", "@today", "@user.id"] as const;

const escapes: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["b", "\b"],
  ["f", "\f"],
  ...["\\", "/", '"', "'"].map((sign) => [sign, sign] as const),
]);

class Unreadable extends Error {}

function readText(literal: string): string {
  return literal.slice(1, -1).replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gsu, (_, code?: string, letter = "") => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    const plain = escapes.get(letter);
    if (plain === undefined) throw new Unreadable();
    return plain;
  });
}

/** Recursive descent: or, and, not, comparison. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Tree {
    const tree = this.#or();
    if (this.#at < this.#tokens.length) throw new Unreadable();
    return tree;
  }

  #or(): Tree {
    return this.#list("or", "||", () => this.#list("and", "&&", () => this.#not()));
  }

  #list(type: "and" | "or", symbol: string, item: () => Tree): Tree {
    const first = item();
    if (!this.#isAt(symbol)) return first;
    const items = [first];
    while (this.#accept(symbol)) items.push(item());
    return { type, items };
  }

  #not(): Tree {
    if (this.#accept("!")) return { type: "not", item: this.#not() };
    if (!this.#accept("(")) return this.#comparison();
    const item = this.#or();
    this.#expect(")");
    return { type: "group", item };
  }

  #comparison(): Tree {
    const left = this.#next();
    if (left.type !== "path" || ["true", "false", "null"].includes(left.text)) throw new Unreadable();
    const path = left.text;
    const token = this.#next();
    if (token.type === "path" && token.text === "in") return { type: "in", path, items: this.#items() };
    const operator = comparisons.find((one) => token.type === "symbol" && token.text === one);
    if (operator === undefined) throw new Unreadable();
    return { type: "compare", path, operator, right: this.#operand() };
  }

  #items(): Operand[] {
    this.#expect("(");
    const items = [this.#operand()];
    while (this.#accept(",")) items.push(this.#operand());
    this.#expect(")");
    return items;
  }

  /** A field as the right side is valid in the language; no tree shows it. */
  #operand(): Operand {
    const { type, text } = this.#next();
    if (type === "text") return { type: "value", value: readText(text) };
    if (type === "number") return { type: "value", value: Number(text) };
    if (type === "macro" && macros.some((name) => name === text)) return { type: "macro", name: text };
    if (type === "path" && text === "true") return { type: "value", value: true };
    if (type === "path" && text === "false") return { type: "value", value: false };
    if (type === "path" && text === "null") return { type: "value", value: null };
    throw new Unreadable();
  }

  #next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Unreadable();
    this.#at += 1;
    return token;
  }

  #isAt(symbol: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.type === "symbol" && token.text === symbol;
  }

  #accept(symbol: string): boolean {
    if (!this.#isAt(symbol)) return false;
    this.#at += 1;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw new Unreadable();
  }
}

/** The tree of an expression, or null for one that is wrong or compares two fields. */
export function parseExpression(text: string): Tree | null {
  // The service refuses longer ones; a deep one must not end in a stack overflow.
  if (text.length > 4_096 || (text.match(/[!(]/g)?.length ?? 0) > 300) return null;
  const tokens = tokensOf(text);
  if (tokens === null || tokens.length === 0) return null;
  try {
    return new Parser(tokens).parse();
  } catch (thrown) {
    if (thrown instanceof Unreadable) return null;
    throw thrown;
  }
}

export function writeOperand(operand: Operand): string {
  return operand.type === "macro" ? operand.name : writeLiteral(operand.value);
}
