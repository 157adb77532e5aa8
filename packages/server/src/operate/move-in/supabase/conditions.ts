/** Conditions of policies in the form that PostgreSQL prints, as rules of Socle. */
import { all, any, type Rule, signedIn } from "../rule-text.ts";
import { Cursor, SqlError } from "./tokens.ts";
import type { PlacedColumn } from "./world.ts";

export type ConditionValue =
  | { readonly kind: "column"; readonly column: PlacedColumn }
  | { readonly kind: "text" | "number"; readonly text: string }
  | { readonly kind: "truth"; readonly value: boolean }
  | { readonly kind: "uid" | "role" | "now" };

/** The comparison of a column with a value, or with some value of a list, as a text; null without the same meaning. */
export type Compare = (left: PlacedColumn, operator: string, right: readonly ConditionValue[]) => string | null;

/** A part of a condition: a rule, or a value. */
type Part = { readonly rule: Rule } | ConditionValue;

const mirrored: Readonly<Record<string, string>> = { "=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<=" };
/** Words that end the name of a type. */
const ends = ["and", "or", "is", "as", "not"];

const ruleOf = (text: string): Part => ({ rule: { text, isOr: false } });

/** Whether a cast to a type keeps the value, and the order. */
function keeps(operand: ConditionValue, type: string): boolean {
  if (operand.kind === "uid" || operand.kind === "role") return /^(text|uuid|character varying)$/.test(type);
  if (operand.kind === "text") return !/[([]/.test(type);
  if (operand.kind === "number")
    return /^(numeric|double precision|real|bigint|integer|smallint)$/.test(type) && !operand.text.includes(".");
  if (operand.kind !== "column") return false;
  const isText = ["string", "text", "relation"].includes(operand.column.type);
  return isText
    ? /^(text|character varying)$/.test(type)
    : operand.column.type === "integer" && /^(numeric|double precision|bigint)$/.test(type);
}

export class ConditionReader {
  readonly #cursor: Cursor;
  readonly #column: (name: string) => PlacedColumn | undefined;
  readonly #compare: Compare;

  constructor(text: string, column: (name: string) => PlacedColumn | undefined, compare: Compare) {
    this.#cursor = new Cursor(text);
    this.#column = column;
    this.#compare = compare;
  }

  /** @throws SqlError for a condition without the same meaning in Socle. */
  whole(): Rule {
    const rule = this.#ruleOf(this.#any());
    if (this.#cursor.next !== undefined) throw this.#cursor.error();
    return rule;
  }

  #ruleOf(part: Part): Rule {
    if ("rule" in part) return part.rule;
    if (part.kind === "truth") return part.value;
    return { text: `${this.#boolean(part).to} = true`, isOr: false };
  }

  #boolean(part: Part): PlacedColumn {
    if ("rule" in part || part.kind !== "column" || part.column.type !== "boolean") throw this.#cursor.error();
    return part.column;
  }

  #any(): Part {
    return this.#joined("or", any, () => this.#joined("and", all, () => this.#not()));
  }

  #joined(word: string, join: (rules: Rule[]) => Rule, read: () => Part): Part {
    const parts = [read()];
    while (this.#cursor.take(word)) parts.push(read());
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { rule: join(parts.map((part) => this.#ruleOf(part))) };
  }

  /** A condition that is null counts as false: only a truth value and a column have an opposite here. */
  #not(): Part {
    if (!this.#cursor.take("not")) return this.#comparison();
    const part = this.#not();
    if ("kind" in part && part.kind === "truth") return { kind: "truth", value: !part.value };
    return ruleOf(`${this.#boolean(part).to} = false`);
  }

  #comparison(): Part {
    const cursor = this.#cursor;
    const left = this.#operand();
    if (cursor.take("is")) return this.#is(left, cursor.take("not"));
    const operator = Object.keys(mirrored).find((sign) => cursor.take(sign));
    if (operator === undefined) return left;
    if ("rule" in left) throw cursor.error();
    const right = cursor.take("any") ? this.#list(operator) : [this.#operand()];
    const values = right.flatMap((part) => ("rule" in part ? [] : [part]));
    const [value] = values;
    const isPair = values.length === 1 && right.length === 1;
    const isRole = left.kind === "role" && isPair && value?.kind === "text" && value.text === "authenticated";
    if (isRole && operator === "=") return ruleOf(signedIn);
    const isTurned = left.kind !== "column" && isPair && value?.kind === "column";
    const column = isTurned ? value : left;
    const text =
      column.kind !== "column" || values.length < right.length
        ? null
        : this.#compare(column.column, isTurned ? (mirrored[operator] ?? "") : operator, isTurned ? [left] : values);
    if (text === null) throw cursor.error();
    return ruleOf(text);
  }

  /** `(ARRAY['a'::text, 'b'::text])` after `= ANY`; also `((ARRAY[…])::text[])`. */
  #list(operator: string): Part[] {
    const cursor = this.#cursor;
    cursor.need("(");
    const isNested = cursor.take("(");
    cursor.need("array", "[");
    const items = [this.#operand()];
    while (cursor.take(",")) items.push(this.#operand());
    cursor.need("]");
    if (isNested) cursor.need(")");
    if (cursor.is("::") && this.#cast() !== "text[]") throw cursor.error();
    cursor.need(")");
    if (operator !== "=") throw cursor.error();
    return items;
  }

  #is(left: Part, isNot: boolean): Part {
    const cursor = this.#cursor;
    if ("rule" in left) throw cursor.error();
    const isNull = cursor.take("null");
    if (left.kind === "uid" && isNull && isNot) return ruleOf(signedIn);
    if (
      left.kind === "column" &&
      isNull &&
      left.column.items === 0 &&
      !["id", "createdAt", "updatedAt"].includes(left.column.to)
    )
      if (left.column.type !== "json") return ruleOf(`${left.column.to} ${isNot ? "!=" : "="} null`);
    const value = cursor.take("true");
    if (!value) cursor.need("false");
    const { to } = this.#boolean(left);
    return ruleOf(isNot ? `(${to} = ${!value} || ${to} = null)` : `${to} = ${value}`);
  }

  #operand(): Part {
    const part = this.#plain();
    while (this.#cursor.is("::")) {
      const type = this.#cast();
      if ("rule" in part || !keeps(part, type)) throw new SqlError(`a value as ${type} has no counterpart`);
    }
    return part;
  }

  /** The type after `::`. */
  #cast(): string {
    const cursor = this.#cursor;
    cursor.need("::");
    const start = cursor.next?.start;
    cursor.qualified();
    while (cursor.next?.kind === "name" && !ends.some((word) => cursor.is(word))) cursor.any();
    if (cursor.is("(")) cursor.inside();
    cursor.take("[", "]");
    return cursor.sql.slice(start, cursor.next?.start).trim();
  }

  #plain(): Part {
    const cursor = this.#cursor;
    if (cursor.take("(")) {
      // `( SELECT auth.uid() AS uid)`
      const isSelect = cursor.take("select");
      const part = this.#any();
      if (isSelect && cursor.take("as")) cursor.name();
      cursor.need(")");
      return part;
    }
    const sign = cursor.take("-") ? "-" : "";
    const { kind, text } = cursor.any();
    if (kind === "number") return { kind, text: sign + text };
    if (sign !== "") throw cursor.error();
    if (kind === "text") return { kind, text };
    if (kind === "name" && (text === "true" || text === "false")) return { kind: "truth", value: text === "true" };
    if (kind === "name" && text === "current_timestamp") return { kind: "now" };
    const name = cursor.take(".") ? `${text}.${cursor.name()}` : text;
    const isCall = cursor.take("(", ")");
    const call = ({ "auth.uid": "uid", "auth.role": "role", now: "now" } as const)[isCall ? name : ""];
    if (call !== undefined) return { kind: call };
    const column = isCall || kind === "sign" ? undefined : this.#column(name);
    if (column === undefined) throw new SqlError(`${name} has no counterpart`);
    return { kind: "column", column };
  }
}
