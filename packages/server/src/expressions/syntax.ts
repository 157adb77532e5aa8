import { oneOf } from "../kernel/index.ts";
import { ExpressionError } from "./expression-error.ts";
import { type Comparison, comparisons, show, type Token, tokensOf } from "./tokens.ts";

/** An expression as it was written: names are not looked up, types not compared. */
export type Syntax =
  | { readonly type: "and" | "or"; readonly items: readonly Syntax[] }
  | { readonly type: "not"; readonly item: Syntax }
  | { readonly type: "compare"; readonly operator: Comparison; readonly left: Term; readonly right: Term }
  | { readonly type: "in"; readonly left: Term; readonly items: readonly Term[] };

/** One side of a comparison; `offset` is where it stands, from 0. */
export type Term = { readonly offset: number } & (
  | { readonly type: "value"; readonly value: string | number | boolean | null }
  | { readonly type: "path"; readonly names: readonly string[] }
  | { readonly type: "macro"; readonly name: Macro }
);

const macros = ["now", "today", "user.id"] as const;
export type Macro = (typeof macros)[number];

/** What one expression may be; more is refused before it costs anything. */
const expressionLimits = { bytes: 4_096, terms: 100, levels: 20 } as const;

const literals = new Map<string, boolean | null>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** Recursive descent: or, and, not, comparison. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #terms = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Syntax {
    const syntax = this.#or(0);
    const rest = this.#next();
    if (rest.type !== "end") throw expected("&& or ||, or the end", rest);
    return syntax;
  }

  #or(level: number): Syntax {
    return this.#list("or", "||", () => this.#list("and", "&&", () => this.#not(level)));
  }

  #list(type: "and" | "or", symbol: "&&" | "||", item: () => Syntax): Syntax {
    const first = item();
    if (!this.#isAt(symbol)) return first;
    const items = [first];
    while (this.#isAt(symbol)) {
      this.#at += 1;
      items.push(item());
    }
    return { type, items };
  }

  #not(level: number): Syntax {
    const token = this.#peek();
    const isOpen = this.#isAt("(");
    if (!isOpen && !this.#isAt("!")) return this.#comparison();
    if (level >= expressionLimits.levels)
      throw new ExpressionError(token.offset, `more than ${expressionLimits.levels} levels of ( and !`);
    this.#at += 1;
    if (!isOpen) return { type: "not", item: this.#not(level + 1) };
    const inner = this.#or(level + 1);
    this.#take(")", "&&, || or )");
    return inner;
  }

  #comparison(): Syntax {
    const left = this.#term();
    this.#count(left.offset);
    const token = this.#next();
    if (token.type === "path" && token.names.length === 1 && token.names[0] === "in")
      return { type: "in", left, items: this.#items() };
    const operator = comparisons.find((one) => token.type === "symbol" && token.symbol === one);
    if (operator === undefined) throw expected(`${comparisons.join(" ")} or in`, token);
    return { type: "compare", operator, left, right: this.#term() };
  }

  #count(offset: number): void {
    this.#terms += 1;
    if (this.#terms > expressionLimits.terms)
      throw new ExpressionError(offset, `more than ${expressionLimits.terms} comparisons`);
  }

  #items(): Term[] {
    this.#take("(", '"(" and the values');
    const items = [this.#term()];
    while (this.#isAt(",")) {
      this.#at += 1;
      items.push(this.#term());
    }
    // Values are one list; each field is a comparison.
    for (const item of items) if (item.type === "path") this.#count(item.offset);
    this.#take(")", '"," or ")"');
    return items;
  }

  #term(): Term {
    const token = this.#next();
    const { offset } = token;
    if (token.type === "text" || token.type === "number") return { type: "value", value: token.value, offset };
    if (token.type === "macro") {
      const name = macros.find((one) => one === token.name);
      if (name !== undefined) return { type: "macro", name, offset };
      throw expected(oneOf(macros.map((one) => `@${one}`)), token);
    }
    if (token.type !== "path") throw expected('a field, a value such as "text", 5, true or null, or @now', token);
    const [word = ""] = token.names;
    const literal = token.names.length === 1 ? literals.get(word) : undefined;
    if (literal !== undefined) return { type: "value", value: literal, offset };
    return { type: "path", names: token.names, offset };
  }

  #peek(): Token {
    // The last one is the end, and nothing goes beyond it.
    return this.#tokens[this.#at] ?? { type: "end", offset: 0 };
  }

  #next(): Token {
    const token = this.#peek();
    if (token.type !== "end") this.#at += 1;
    return token;
  }

  #isAt(symbol: string): boolean {
    const token = this.#peek();
    return token.type === "symbol" && token.symbol === symbol;
  }

  #take(symbol: "(" | ")", wanted: string): void {
    const token = this.#next();
    if (token.type !== "symbol" || token.symbol !== symbol) throw expected(wanted, token);
  }
}

const words: { readonly [word: string]: string } = { and: "&&", or: "||", not: "!", like: "~", is: "=", eq: "=" };

function expected(what: string, token: Token): ExpressionError {
  const word = token.type === "path" ? token.names.join(".").toLowerCase() : "";
  const hint = Object.hasOwn(words, word) ? `; for "${word}" write ${words[word]}` : "";
  const found = token.type === "end" ? "the end came" : `found ${show(token)}`;
  return new ExpressionError(token.offset, `expected ${what}, ${found}${hint}`);
}

/**
 * Parses the text of an expression.
 * @throws ExpressionError with the position and what was expected there, or with the limit that is exceeded.
 */
export function parseSyntax(text: string): Syntax {
  const bytes = Buffer.byteLength(text);
  if (bytes > expressionLimits.bytes)
    throw new ExpressionError(0, `${bytes} bytes are too many; at most ${expressionLimits.bytes} are allowed`);
  return new Parser(tokensOf(text)).parse();
}
