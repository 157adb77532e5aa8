/** The place at the end of an unfinished expression: the kind of piece that may follow, and its collection. */
import type { FieldDefinition } from "@socle/protocol";
import { comparisons, type Token } from "@socle/protocol/filter";
import { fieldOfPath, follow, type Schema } from "./schema.ts";

export interface Place {
  /**
   * `operand` begins a comparison, `value` is the right side of the comparison, `step` follows a backward step and its dot, `after`
   * follows a backward step without the dot, and `pointer` is the field in the brackets of a backward step.
   */
  readonly expected: "operand" | "operator" | "value" | "join" | "step" | "after" | "pointer" | "none";
  /** The collection that names belong to; null for an unknown collection. */
  readonly at: string | null;
  /** The left side of the comparison, when known. */
  readonly left: FieldDefinition | undefined;
  /** For `pointer`: the collection of the field. */
  readonly from: string | null;
  /** Whether the place is in brackets or in the condition of `every`, where `@record` differs from the record of the names. */
  readonly isInside: boolean;
  /** Whether the place is in the path of `every(path, condition)`. */
  readonly isPathOfEvery: boolean;
}

interface Frame {
  readonly closing: ")" | "]";
  readonly kind: "group" | "list" | "call" | "brackets" | "every" | "condition";
  readonly scope: string | null;
  readonly isRight: boolean;
}

const calls: ReadonlyMap<string, FieldDefinition["type"]> = new Map([
  ["lower", "string"],
  ["length", "integer"],
  ["distance", "float"],
]);

class Scanner {
  readonly #schema: Schema;
  /** The collection of the record that the expression is about. */
  readonly #root: string;
  readonly #tokens: readonly Token[];
  readonly #frames: Frame[] = [];
  #i = 0;
  /** The collection of names at the current token. */
  #scope: string | null;
  /** The collection that the last backward step has led to. */
  #at: string | null = null;
  #expected: Place["expected"] = "operand";
  #isRight = false;
  #left: FieldDefinition | undefined;
  #from: string | null = null;

  constructor(schema: Schema, collection: string, tokens: readonly Token[]) {
    this.#schema = schema;
    [this.#root, this.#scope] = [collection, collection];
    this.#tokens = tokens.filter(({ type }) => type !== "end");
  }

  /** The symbol or the path at a token; empty for a value. */
  #textAt(index: number): string {
    const token = this.#tokens[index];
    if (token?.type === "symbol") return token.symbol;
    return token?.type === "path" ? token.names.join(".") : "";
  }

  scan(): Place {
    while (this.#i < this.#tokens.length && this.#expected !== "none" && this.#expected !== "pointer") {
      const token = this.#tokens[this.#i];
      this.#i += 1;
      if (token?.type === "macro" && token.name === "record") this.#ofRecord();
      else if (token !== undefined) this.#take(token.type, this.#textAt(this.#i - 1));
    }
    const isFurther = this.#expected === "step" || this.#expected === "after" || this.#expected === "pointer";
    return {
      expected: this.#expected,
      at: isFurther ? this.#at : this.#scope,
      left: this.#left,
      from: this.#from,
      isInside: this.#frames.some(({ kind }) => kind === "brackets" || kind === "condition"),
      isPathOfEvery: this.#frames.at(-1)?.kind === "every",
    };
  }

  #take(type: Token["type"], text: string): void {
    if (type === "symbol") this.#symbol(text);
    else if (type === "offset") this.#expected = "join";
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
    else if (text === ",") this.#comma();
    else if (comparisons.some((each) => each === text)) [this.#expected, this.#isRight] = ["value", true];
    else this.#expected = "none";
  }

  /** The next item of a list, or the condition of `every`. */
  #comma(): void {
    const frame = this.#frames.at(-1);
    if (frame?.kind === "call") {
      // The further arguments are numbers.
      const end = this.#tokens.findIndex((_, i) => i >= this.#i && this.#textAt(i) === ")");
      this.#i = end === -1 ? this.#tokens.length : end;
      if (end === -1) this.#expected = "none";
      return;
    }
    if (frame?.kind !== "every" || this.#expected !== "after") {
      this.#expected = frame?.kind === "every" ? "none" : "value";
      return;
    }
    this.#frames.splice(-1, 1, { ...frame, kind: "condition" });
    this.#scope = this.#at;
    this.#begin();
  }

  #ofRecord(): void {
    const isPath = ["operand", "value"].includes(this.#expected) && this.#textAt(this.#i) === ".";
    this.#i += 1;
    [this.#at, this.#expected] = [this.#root, isPath ? "step" : "none"];
  }

  #begin(): void {
    [this.#expected, this.#left, this.#isRight] = ["operand", undefined, false];
  }

  #open(kind: Frame["kind"], closing: Frame["closing"]): void {
    this.#frames.push({ kind, closing, scope: this.#scope, isRight: this.#isRight });
  }

  #openList(): void {
    if (this.#textAt(this.#i) === "(") {
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

  /** Opens the brackets of a backward step, or skips an item of JSON. */
  #bracket(): void {
    if (this.#expected === "after") {
      this.#open("brackets", "]");
      this.#scope = this.#at;
      this.#begin();
      return;
    }
    const end = this.#tokens.findIndex((_, i) => i >= this.#i && this.#textAt(i) === "]");
    this.#i = end === -1 ? this.#tokens.length : end + 1;
    if (end === -1) this.#expected = "none";
  }

  #path(text: string): void {
    const start = this.#expected === "step" ? this.#at : this.#scope;
    if (this.#textAt(this.#i) !== "(") {
      this.#field(start === null ? undefined : fieldOfPath(this.#schema, start, text));
      return;
    }
    this.#i += 1;
    // A collection may have the name, too: its backward step has a single name.
    if (text === "every" && this.#textAt(this.#i + 1) !== ")") {
      this.#open("every", ")");
      this.#expected = "operand";
      return;
    }
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
    if (this.#textAt(this.#i + 1) === ")") {
      this.#i += 2;
      [this.#at, this.#expected] = [this.#from, "after"];
    } else [this.#at, this.#expected] = [to, "pointer"];
  }

  /** A field: a multiple relation leads on to the records of the items, in brackets and in `every`. */
  #field(field: FieldDefinition | undefined): void {
    const isOfRecords = this.#textAt(this.#i) === "[" || this.#frames.at(-1)?.kind === "every";
    if (field?.type === "relation" && field.multiple === true && isOfRecords)
      [this.#at, this.#expected] = [field.collection ?? null, "after"];
    else this.#endOperand(field);
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
