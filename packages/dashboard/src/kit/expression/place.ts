/** The place at the end of an expression that is being typed: which kind of piece may follow there, and in which collection. */
import type { FieldDefinition } from "@socle/protocol";
import { fieldOfPath, follow, type Schema } from "./schema.ts";
import { comparisons, type Token } from "./tokens.ts";

export interface Place {
  /**
   * `operand` begins a comparison, `value` is its right side, `step` goes on after a backward step and its dot, `after` may, and
   * `pointer` is the field of one, in its brackets.
   */
  readonly expected: "operand" | "operator" | "value" | "join" | "step" | "after" | "pointer" | "none";
  /** The collection in which names are looked up; null for one that is not known. */
  readonly at: string | null;
  /** The left side of the comparison, where it is known. */
  readonly left: FieldDefinition | undefined;
  /** Of `pointer`: the collection of the field. */
  readonly from: string | null;
}

interface Frame {
  readonly closing: ")" | "]";
  readonly kind: "group" | "list" | "call" | "brackets";
  readonly scope: string | null;
  readonly isRight: boolean;
}

const calls: ReadonlyMap<string, FieldDefinition["type"]> = new Map([
  ["lower", "string"],
  ["length", "integer"],
]);

class Scanner {
  readonly #schema: Schema;
  readonly #tokens: readonly Token[];
  readonly #frames: Frame[] = [];
  #i = 0;
  /** The collection of the names here. */
  #scope: string | null;
  /** The collection that the last backward step has led to. */
  #at: string | null = null;
  #expected: Place["expected"] = "operand";
  #isRight = false;
  #left: FieldDefinition | undefined;
  #from: string | null = null;

  constructor(schema: Schema, collection: string, tokens: readonly Token[]) {
    this.#schema = schema;
    this.#scope = collection;
    this.#tokens = tokens;
  }

  scan(): Place {
    while (this.#i < this.#tokens.length && this.#expected !== "none" && this.#expected !== "pointer") {
      const token = this.#tokens[this.#i];
      this.#i += 1;
      if (token !== undefined) this.#take(token);
    }
    const isFurther = this.#expected === "step" || this.#expected === "after" || this.#expected === "pointer";
    return {
      expected: this.#expected,
      at: isFurther ? this.#at : this.#scope,
      left: this.#left,
      from: this.#from,
    };
  }

  #take(token: Token): void {
    const { type, text } = token;
    if (type === "symbol") this.#symbol(text);
    else if (type === "shift") this.#expected = "join";
    else if (type === "path" && this.#expected === "operator" && text === "in") this.#openList();
    else if (type === "path" && ["operand", "value", "step"].includes(this.#expected)) this.#path(text);
    else if (["operand", "value"].includes(this.#expected)) this.#endOperand(undefined);
    else this.#expected = "none";
  }

  #symbol(text: string): void {
    if (text === "&&" || text === "||") this.#begin();
    else if (text === "!") this.#expected = this.#expected === "operand" ? "operand" : "none";
    else if (text === "(") this.#open("group", ")");
    else if (text === ")" || text === "]") this.#close(text);
    else if (text === "[") this.#bracket();
    else if (text === ".") this.#expected = this.#expected === "after" ? "step" : "none";
    else if (text === ",") this.#expected = "value";
    else if (comparisons.some((each) => each === text)) [this.#expected, this.#isRight] = ["value", true];
    else this.#expected = "none";
  }

  #begin(): void {
    [this.#expected, this.#left, this.#isRight] = ["operand", undefined, false];
  }

  #open(kind: Frame["kind"], closing: Frame["closing"]): void {
    this.#frames.push({ kind, closing, scope: this.#scope, isRight: this.#isRight });
  }

  #openList(): void {
    if (this.#tokens[this.#i]?.text === "(") {
      this.#i += 1;
      this.#open("list", ")");
    }
    [this.#expected, this.#isRight] = ["value", true];
  }

  #close(text: ")" | "]"): void {
    const frame = this.#frames.pop();
    if (frame === undefined || frame.closing !== text) {
      this.#expected = "none";
      return;
    }
    if (frame.kind === "brackets") this.#at = this.#scope;
    this.#scope = frame.scope;
    this.#isRight = frame.isRight;
    if (frame.kind === "brackets") this.#expected = "after";
    else if (frame.kind === "call") this.#endOperand(this.#left);
    else this.#expected = "join";
  }

  /** Of a backward step, or an item of JSON. */
  #bracket(): void {
    if (this.#expected === "after") {
      this.#open("brackets", "]");
      this.#scope = this.#at;
      this.#begin();
      return;
    }
    const end = this.#tokens.findIndex(({ text }, i) => i >= this.#i && text === "]");
    this.#i = end === -1 ? this.#tokens.length : end + 1;
    if (end === -1) this.#expected = "none";
  }

  #path(text: string): void {
    const start = this.#expected === "step" ? this.#at : this.#scope;
    if (this.#tokens[this.#i]?.text !== "(") {
      this.#endOperand(start === null ? undefined : fieldOfPath(this.#schema, start, text));
      return;
    }
    this.#i += 1;
    const type = calls.get(text);
    if (type !== undefined) {
      this.#open("call", ")");
      this.#left = { name: text, type };
      this.#expected = "operand";
      return;
    }
    const names = text.split(".");
    const to = start === null ? null : follow(this.#schema, start, names.slice(0, -1));
    this.#from = names.at(-1) ?? null;
    if (this.#tokens[this.#i + 1]?.text === ")") {
      this.#i += 2;
      [this.#at, this.#expected] = [this.#from, "after"];
    } else [this.#at, this.#expected] = [to, "pointer"];
  }

  #endOperand(field: FieldDefinition | undefined): void {
    const frame = this.#frames.at(-1);
    // Inside of a call, the field is its argument.
    if (frame?.kind === "call" && this.#expected === "operand") this.#expected = "join";
    else if (this.#isRight) this.#expected = "join";
    else [this.#left, this.#expected] = [field, "operator"];
  }
}

/** The place behind some tokens of an expression over the records of a collection. */
export function placeAfter(tokens: readonly Token[], schema: Schema, collection: string): Place {
  return new Scanner(schema, collection, tokens).scan();
}
