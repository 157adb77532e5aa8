/** Syntax: the text of a filter as a tree. Names are not looked up, types not compared. */
import { GEO_LIMITS, type GeoPoint, isCoordinate } from "../geo.ts";
import {
  type Comparison,
  comparisons,
  FilterSyntaxError,
  type LengthUnit,
  show,
  type Token,
  tokensOf,
} from "./tokens.ts";

/** A part of a filter's text: from `start` up to `end`, from 0. Brackets around the part lie outside. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type Syntax = Span & SyntaxNode;

type SyntaxNode =
  | { readonly type: "and" | "or"; readonly items: readonly Syntax[] }
  | { readonly type: "not"; readonly item: Syntax }
  | { readonly type: "compare"; readonly operator: Comparison; readonly left: Term; readonly right: Term }
  | { readonly type: "in"; readonly left: Term; readonly items: readonly Term[] }
  /**
   * A path that ends with records of another collection, for example `members(workspace)[role = "owner"]` and
   * `labels[color = "red"]`: some record is found.
   */
  | { readonly type: "exists"; readonly path: PathTerm }
  /** `every(path, condition)`: of the records that the path leads to, no record fails the condition. */
  | { readonly type: "every"; readonly path: PathTerm; readonly condition: Syntax };

/** One step of a path; `offset` is the place, from 0. */
export type Step = { readonly offset: number } /** A field, or a member of an object in JSON. */ & (
  | { readonly type: "name"; readonly name: string }
  /** `collection(field)[filter]`: the records of a collection with a field that points here. */
  | {
      readonly type: "backward";
      readonly collection: string;
      readonly field: string;
      readonly fieldOffset: number;
      readonly filter: Syntax | null;
    }
  /** `field[filter]`: the records that the items of a multiple relation name. */
  | { readonly type: "items"; readonly name: string; readonly filter: Syntax }
  /** `meta["a b"]`: a member of an object in JSON, by a name that is no name of the grammar. */
  | { readonly type: "member"; readonly name: string }
  /** An item of an array in JSON, from 0; null for any item. */
  | { readonly type: "item"; readonly index: number | null }
);

export interface PathTerm {
  readonly type: "path";
  /** Whether the path begins with `@record`: at the record that the filter is about, also in brackets. */
  readonly isOfRecord: boolean;
  readonly steps: readonly Step[];
  readonly offset: number;
}

/** A value in the text, from `offset` up to `end`, from 0. */
interface ValueTerm {
  readonly type: "value";
  readonly value: string | number | boolean | null;
  /** The unit of a length, such as `5km`; the value is in metres. */
  readonly unit?: LengthUnit | undefined;
  readonly offset: number;
  readonly end: number;
}

/** `lower(field)`, `length(field)`, `distance(field, lat, lon)`. */
type CallTerm = { readonly type: "call"; readonly argument: Term; readonly offset: number } & (
  | { readonly call: "lower" | "length" }
  | { readonly call: "distance"; readonly point: GeoPoint }
);

/** One side of a comparison; `offset` is the place, from 0. */
export type Term =
  | PathTerm
  | ValueTerm
  /** `shift` is in milliseconds. */
  | { readonly type: "macro"; readonly name: Macro; readonly shift: number; readonly offset: number }
  | CallTerm;

export const macros = ["now", "today", "user.id", "user.role", "user.email", "user.anonymous", "key"] as const;
export type Macro = (typeof macros)[number];
const macroNames = "@now, @today, @user.id, @user.role, @user.email, @user.anonymous or @record";
/** The macro that begins a path. */
const recordMacro = "record";

export const calls = ["lower", "length", "distance"] as const;
export type Call = (typeof calls)[number];

/** The bounds of one filter. */
const filterLimits = { bytes: 4_096, terms: 100, levels: 20 } as const;
/** The bytes of the filter of a list, which may name a thousand ids. */
export const LIST_FILTER_BYTES: number = 64 * 1024;

const literals = new Map<string, boolean | null>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** Whether a word is a value, and so no field. */
export function isLiteral(word: string): boolean {
  return literals.has(word);
}

/** Characters that the paths of SQLite, or the JSON of a member, write in more than one way. */
const unwritten = /["\\]|[^ -\u{10ffff}]/u;

/** Recursive descent: or, and, not, comparison, term, path. */
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
    const start = this.#peek().offset;
    const first = item();
    if (!this.#isAt(symbol)) return first;
    const items = [first];
    while (this.#isAt(symbol)) {
      this.#at += 1;
      items.push(item());
    }
    return { type, items, ...this.#spanFrom(start) };
  }

  #not(level: number): Syntax {
    const isOpen = this.#isAt("(");
    if (!isOpen && !this.#isAt("!")) return this.#comparison(level);
    const start = this.#peek().offset;
    this.#descend(level);
    this.#at += 1;
    if (!isOpen) return { type: "not", item: this.#not(level + 1), ...this.#spanFrom(start) };
    const inner = this.#or(level + 1);
    this.#take(")", "&&, || or )");
    return inner;
  }

  #comparison(level: number): Syntax {
    if (this.#isEveryAhead()) return this.#every(level);
    const left = this.#term(level);
    this.#count(left.offset);
    const token = this.#peek();
    if (isWord(token, "in")) {
      this.#at += 1;
      return { type: "in", left, items: this.#items(level), ...this.#spanFrom(left.offset) };
    }
    const operator = comparisons.find((one) => token.type === "symbol" && token.symbol === one);
    if (operator !== undefined) {
      this.#at += 1;
      return { type: "compare", operator, left, right: this.#term(level), ...this.#spanFrom(left.offset) };
    }
    const last = left.type === "path" ? left.steps.at(-1)?.type : undefined;
    if (left.type === "path" && (last === "backward" || last === "items"))
      return { type: "exists", path: left, ...this.#spanFrom(left.offset) };
    throw expected(`${comparisons.join(" ")} or in`, token);
  }

  /** Whether a call of `every` begins here. */
  #isEveryAhead(): boolean {
    return isWord(this.#peek(), "every") && this.#isAt("(", 1) && !this.#isNameAhead(2);
  }

  /** Whether a name in brackets follows: `every(field)` leads back to the records of a collection with the name `every`. */
  #isNameAhead(ahead: number): boolean {
    const argument = this.#peek(ahead);
    return argument.type === "path" && argument.names.length === 1 && this.#isAt(")", ahead + 1);
  }

  #every(level: number): Syntax {
    const start = this.#next().offset;
    this.#count(start);
    this.#descend(level);
    this.#take("(", '"("');
    const path = this.#term(level + 1);
    if (path.type !== "path")
      throw new FilterSyntaxError(path.offset, "every(path, condition) takes a path to records first");
    this.#take(",", '"," and a condition');
    const condition = this.#or(level + 1);
    this.#take(")", "&&, || or )");
    return { type: "every", path, condition, ...this.#spanFrom(start) };
  }

  #count(offset: number): void {
    this.#terms += 1;
    if (this.#terms > filterLimits.terms)
      throw new FilterSyntaxError(offset, `more than ${filterLimits.terms} comparisons`);
  }

  #descend(level: number): void {
    if (level >= filterLimits.levels)
      throw new FilterSyntaxError(this.#peek().offset, `more than ${filterLimits.levels} levels of ( and !`);
  }

  #items(level: number): Term[] {
    this.#take("(", '"(" and the values');
    const items = [this.#term(level)];
    while (this.#isAt(",")) {
      this.#at += 1;
      items.push(this.#term(level));
    }
    // Values are one list; each field is a comparison.
    for (const item of items) if (item.type === "path") this.#count(item.offset);
    this.#take(")", '"," or ")"');
    return items;
  }

  #term(level: number): Term {
    const token = this.#next();
    const { offset, end } = token;
    if (token.type === "text") return { type: "value", value: token.value, offset, end };
    if (token.type === "number") return { type: "value", value: token.value, unit: token.unit, offset, end };
    if (token.type === "macro") return this.#macro(token, level);
    if (token.type !== "path") throw expected('a field, a value such as "text", 5, true or null, or @now', token);
    const [word = ""] = token.names;
    const literal = token.names.length === 1 ? literals.get(word) : undefined;
    if (literal !== undefined) return { type: "value", value: literal, offset, end };
    if (word === "nearest" && this.#isAt("(") && !this.#isNameAhead(1))
      throw new FilterSyntaxError(offset, "nearest(field, [numbers]) can only sort a list");
    const call = token.names.length === 1 && this.#isAt("(") ? calls.find((one) => one === word) : undefined;
    if (call === undefined || (call === "distance" && this.#isNameAhead(1))) return this.#path(token, level);
    return this.#call(call, offset, level);
  }

  #macro(token: Token & { type: "macro" }, level: number): Term {
    if (token.name === recordMacro) return this.#ofRecord(token, level);
    const name = macros.find((one) => one === token.name);
    if (name === undefined) throw expected(macroNames, token);
    const shift = this.#peek();
    if (shift.type !== "offset") return { type: "macro", name, shift: 0, offset: token.offset };
    if (name !== "now" && name !== "today")
      throw new FilterSyntaxError(shift.offset, `${show(shift)} can only follow @now or @today`);
    this.#at += 1;
    return { type: "macro", name, shift: shift.ms, offset: token.offset };
  }

  #call(call: Call, offset: number, level: number): Term {
    this.#descend(level);
    this.#take("(", '"("');
    const argument = this.#term(level + 1);
    const term: Term =
      call === "distance"
        ? { type: "call", call, argument, point: this.#point(), offset }
        : { type: "call", call, argument, offset };
    this.#take(")", '")"');
    return term;
  }

  #point(): GeoPoint {
    const lat = this.#coordinate("lat");
    return { lat, lon: this.#coordinate("lon") };
  }

  /** A comma and a number of degrees. */
  #coordinate(axis: keyof GeoPoint): number {
    const name = axis === "lat" ? "a latitude" : "a longitude";
    const wanted = `${name} from -${GEO_LIMITS[axis]} to ${GEO_LIMITS[axis]}, as in distance(field, lat, lon)`;
    this.#take(",", `"," and ${wanted}`);
    const token = this.#next();
    if (token.type !== "number" || token.unit !== undefined || !isCoordinate(axis, token.value))
      throw expected(wanted, token);
    return token.value;
  }

  #ofRecord({ offset }: Token, level: number): PathTerm {
    this.#take(".", '"." and a field after @record');
    const first = this.#next();
    if (first.type !== "path") throw expected("a field after @record", first);
    return { ...this.#path(first, level), isOfRecord: true, offset };
  }

  /** The names of a token, and the steps that follow. */
  #path(first: Token & { type: "path" }, level: number): PathTerm {
    const steps: Step[] = [...namesOf(first)];
    while (true) {
      const last = steps.at(-1);
      if (this.#isAt("(") && last?.type === "name") steps.splice(-1, 1, this.#backward(last, level));
      else if (this.#isAt("[") && last?.type === "name" && this.#isFilterAhead())
        steps.splice(-1, 1, { type: "items", name: last.name, filter: this.#filter(level), offset: last.offset });
      else if (this.#isAt("[")) steps.push(this.#item());
      else if (this.#isAt(".") && last?.type !== "name") {
        this.#at += 1;
        const token = this.#next();
        if (token.type !== "path") throw expected("a field", token);
        steps.push(...namesOf(token));
      } else return { type: "path", isOfRecord: false, steps, offset: first.offset };
    }
  }

  #backward({ name, offset }: Step & { type: "name" }, level: number): Step {
    this.#take("(", '"("');
    const field = this.#next();
    if (field.type !== "path" || field.names.length > 1)
      throw expected(`the field of "${name}" that points here`, field);
    this.#take(")", '")"');
    const filter = this.#isAt("[") ? this.#filter(level) : null;
    const [pointer = ""] = field.names;
    return { type: "backward", collection: name, field: pointer, fieldOffset: field.offset, filter, offset };
  }

  /** A condition in brackets. */
  #filter(level: number): Syntax {
    this.#descend(level);
    this.#at += 1;
    const filter = this.#or(level + 1);
    this.#take("]", "&&, || or ]");
    return filter;
  }

  /** Whether a bracket begins a condition, and not the number of an item. */
  #isFilterAhead(): boolean {
    const token = this.#tokens[this.#at + 1];
    if (token?.type === "symbol") return token.symbol === "(" || token.symbol === "!";
    return token?.type === "path" || token?.type === "macro";
  }

  #item(): Step {
    const { offset } = this.#next();
    const token = this.#next();
    const isAny = token.type === "symbol" && token.symbol === "*";
    const isIndex =
      token.type === "number" && token.unit === undefined && Number.isSafeInteger(token.value) && token.value >= 0;
    if (token.type === "text" && unwritten.test(token.value))
      throw new FilterSyntaxError(
        token.offset,
        "a member in brackets has no quotation mark, backslash or control character",
      );
    if (!isAny && !isIndex && token.type !== "text")
      throw expected('the number of an item, from 0, * for any, or a member such as "a b"', token);
    this.#take("]", '"]"');
    if (token.type === "text") return { type: "member", name: token.value, offset };
    return { type: "item", index: isIndex ? token.value : null, offset };
  }

  /** @param ahead counts the tokens in between. */
  #peek(ahead = 0): Token {
    // The last token is the end, and no step goes beyond the end.
    return this.#tokens[this.#at + ahead] ?? { type: "end", offset: 0, end: 0 };
  }

  /** From a place up to the end of the last token that was taken. */
  #spanFrom(start: number): Span {
    return { start, end: this.#tokens[this.#at - 1]?.end ?? start };
  }

  #next(): Token {
    const token = this.#peek();
    if (token.type !== "end") this.#at += 1;
    return token;
  }

  #isAt(symbol: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return token.type === "symbol" && token.symbol === symbol;
  }

  #take(symbol: "(" | ")" | "]" | "," | ".", wanted: string): void {
    const token = this.#next();
    if (token.type !== "symbol" || token.symbol !== symbol) throw expected(wanted, token);
  }
}

function isWord(token: Token, word: string): boolean {
  return token.type === "path" && token.names.length === 1 && token.names[0] === word;
}

function namesOf({ names, offset }: Token & { type: "path" }): Step[] {
  let at = offset;
  return names.map((name): Step => {
    const step: Step = { type: "name", name, offset: at };
    at += name.length + 1;
    return step;
  });
}

const words: { readonly [word: string]: string } = { and: "&&", or: "||", not: "!", like: "~", is: "=", eq: "=" };

function expected(wanted: string, token: Token): FilterSyntaxError {
  const word = token.type === "path" ? token.names.join(".").toLowerCase() : "";
  const hint = Object.hasOwn(words, word) ? `; for "${word}" write ${words[word]}` : "";
  const found = token.type === "end" ? "found the end" : `found ${show(token)}`;
  return new FilterSyntaxError(token.offset, `expected ${wanted}, ${found}${hint}`);
}

/** Whether a term is null for a caller without a sign-in. */
function isOfUser(term: Term): boolean {
  return term.type === "macro" ? term.name.startsWith("user.") : term.type === "call" && isOfUser(term.argument);
}

function isNull(term: Term): boolean {
  return term.type === "value" && term.value === null;
}

/**
 * Whether no caller without a sign-in fulfils a condition, whatever the record holds: `author = @user.id` asks for the user,
 * and the values of the user are null then, which no comparison but `!=` fulfils. A condition that is not decided here counts as open.
 */
export function needsUser(node: Syntax): boolean {
  switch (node.type) {
    case "and":
      return node.items.some(needsUser);
    case "or":
      return node.items.every(needsUser);
    case "compare": {
      const [terms, isNegated] = [[node.left, node.right], node.operator.startsWith("!")];
      return terms.some(isOfUser) && isNegated === terms.some(isNull);
    }
    case "in":
      return isOfUser(node.left);
    case "exists":
      return node.path.steps.some(
        (step) => (step.type === "backward" || step.type === "items") && step.filter !== null && needsUser(step.filter),
      );
    default:
      return false;
  }
}

/**
 * Parses the text of a filter.
 * @param bytes the most bytes of the text: by default the bytes of a rule and of a live query.
 * @throws FilterSyntaxError with the place and the expectation, or with the bound that is exceeded.
 */
export function parseSyntax(text: string, bytes: number = filterLimits.bytes): Syntax {
  return new Parser(tokensWithin(text, bytes)).parse();
}

/** The text of a path alone, for example `author.name`, for a sort. @throws FilterSyntaxError. */
export function parsePathSyntax(text: string): PathTerm {
  const term = parseTermSyntax(text);
  if (term.type !== "path" || term.isOfRecord) throw new FilterSyntaxError(0, "expected a field");
  return term;
}

/** The text of one side of a comparison. @throws FilterSyntaxError. */
export function parseTermSyntax(text: string): Term {
  const syntax = new Parser([...tokensWithin(`${text} = null`)]).parse();
  if (syntax.type !== "compare") throw new FilterSyntaxError(0, "expected a field");
  return syntax.left;
}

function tokensWithin(text: string, most: number = filterLimits.bytes): Token[] {
  // No character takes more than three bytes for each unit.
  const bytes = text.length * 3 > most ? new TextEncoder().encode(text).length : 0;
  if (bytes > most) throw new FilterSyntaxError(0, `${bytes} bytes are too many; at most ${most} are allowed`);
  return tokensOf(text);
}

/** A path as written. */
export function textOf({ steps, isOfRecord }: PathTerm): string {
  const text = steps
    .map((step, i) => {
      if (step.type === "item") return `[${step.index ?? "*"}]`;
      if (step.type === "member") return `["${step.name}"]`;
      const text = step.type === "backward" ? `${step.collection}(${step.field})` : step.name;
      return i === 0 ? text : `.${text}`;
    })
    .join("");
  return isOfRecord ? `@record.${text}` : text;
}
