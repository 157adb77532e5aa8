/** The filter language of PocketBase: a text becomes a tree of comparisons. */

export type FilterOperand =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "number"; readonly text: string }
  /** A path, a macro, `true`, `false` or `null`, with modifiers as `:lower`. */
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "call"; readonly text: string };

export interface Comparison {
  readonly left: FilterOperand;
  /** Without the `?` of "some". */
  readonly operator: string;
  /** Whether the operator has `?`: some value of several. */
  readonly isSome: boolean;
  readonly right: FilterOperand;
  readonly text: string;
}

export type Node = { readonly and: readonly Node[] } | { readonly or: readonly Node[] } | Comparison;

const token =
  /\s+|\/\/[^\n]*|(?<join>\|\||&&|[()])|(?<operator>\??(?:!=|!~|>=|<=|=|~|>|<))|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<number>-?\d+(?:\.\d+)?(?!\w))|(?<word>[@\w][\w.:@]*)|(?<other>.)/gsy;

interface Token {
  readonly kind: string;
  readonly text: string;
  readonly start: number;
}

/** @throws Error for a text that does not parse. */
export function parseFilter(text: string): Node {
  const tokens: Token[] = [];
  for (const { groups = {}, index } of text.matchAll(token))
    for (const [kind, found] of Object.entries(groups))
      if (found !== undefined) tokens.push({ kind, text: found, start: index });
  const parser = new Parser(tokens, text);
  const node = parser.any();
  if (parser.next !== undefined) throw parser.error();
  return node;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #text: string;
  #at = 0;

  constructor(tokens: readonly Token[], text: string) {
    this.#tokens = tokens;
    this.#text = text;
  }

  get next(): Token | undefined {
    return this.#tokens[this.#at];
  }

  error(): Error {
    return new Error(`unexpected ${this.next?.text ?? "end"}`);
  }

  #take(text: string): boolean {
    const isThere = this.next?.text === text && this.next.kind !== "text";
    this.#at += isThere ? 1 : 0;
    return isThere;
  }

  any(): Node {
    const items = [this.#all()];
    while (this.#take("||")) items.push(this.#all());
    return items.length === 1 && items[0] !== undefined ? items[0] : { or: items };
  }

  #all(): Node {
    const items = [this.#one()];
    while (this.#take("&&")) items.push(this.#one());
    return items.length === 1 && items[0] !== undefined ? items[0] : { and: items };
  }

  #one(): Node {
    if (this.#take("(")) {
      const node = this.any();
      if (!this.#take(")")) throw this.error();
      return node;
    }
    const start = this.next?.start ?? 0;
    const left = this.#operand();
    const { next } = this;
    if (next?.kind !== "operator") throw this.error();
    this.#at += 1;
    const right = this.#operand();
    const end = this.next?.start ?? this.#text.length;
    const isSome = next.text.startsWith("?");
    const operator = isSome ? next.text.slice(1) : next.text;
    return { left, operator, isSome, right, text: this.#text.slice(start, end).trim() };
  }

  #operand(): FilterOperand {
    const found = this.next;
    if (found === undefined) throw this.error();
    this.#at += 1;
    const { kind, text, start } = found;
    if (kind === "text") return { kind, text: text.slice(1, -1).replace(/\\(.)/gs, "$1") };
    if (kind === "number") return { kind, text };
    if (kind !== "word") throw this.error();
    if (!this.#take("(")) return { kind, text };
    for (let depth = 1; depth > 0; ) {
      if (this.next === undefined) throw this.error();
      if (this.next.text === "(") depth += 1;
      else if (this.next.text === ")") depth -= 1;
      this.#at += 1;
    }
    return { kind: "call", text: this.#text.slice(start, this.next?.start ?? this.#text.length).trim() };
  }
}
