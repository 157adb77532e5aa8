/** The shape of a field type in the dashboard: all that differs from type to type. `plain.tsx`, `pointing.tsx`, `geo.tsx` and `vector.tsx` describe the types. */
import type { FieldDefinition, FieldType, JsonValue } from "@socle/protocol";
import type { Comparison } from "@socle/protocol/filter";
import type { ComponentType } from "react";
import type { Preloadable } from "../kit/preloadable.tsx";
import type { Row } from "../pages/records/data/rows.ts";
import type { Target } from "../pages/records/data/targets.ts";
import type { ControlProps } from "../pages/records/editor/controls/control.tsx";
import type { NumberProblem } from "../pages/records/editor/numbers.ts";
import { text } from "../texts/index.ts";

/** The right side of a comparison: a value, or `@now`, `@today` or `@user.id`. */
export type Operand =
  | { readonly type: "value"; readonly value: string | number | boolean | null }
  | { readonly type: "macro"; readonly name: string };

export type Operator = Comparison | "in" | "isNull" | "isNotNull";

/** A completion: the text that is put in, and a word on the meaning. */
export type Suggestion = readonly [label: string, detail: string];

export const noValue: Suggestion = ["null", "no value"];
export const callerId: Suggestion = ["@user.id", "who asks"];
export const callerEmail: Suggestion = ["@user.email", "their email"];

export type ValueProblem = NumberProblem | "notADateTime" | "notJson" | "notAPlace";

/** The value of a text in a form, or the problem that stops the field from taking the text. */
export type Parsed = { readonly value: JsonValue } | { readonly problem: ValueProblem };

export interface CellProps {
  row: Row;
  column: {
    readonly name: string;
    readonly field: FieldDefinition;
    /** The width in pixels. */
    readonly size: number;
    /** Whether the service manages the value. */
    readonly isSystem: boolean;
    readonly target: Target | undefined;
  };
  /** The value of the column, which is not null. */
  value: JsonValue;
}

export interface FieldKind {
  readonly icon: ComponentType<{ size?: number; stroke?: number; style?: object }>;
  readonly words: (typeof text.schema.types)[FieldType];
  /** The width of a column in pixels. */
  readonly width: number;
  /** Whether a cell of the grid edits the value; other values need the drawer. */
  readonly isInline?: true;
  /** Whether the values are numbers, which stand at the right. */
  readonly isNumber?: true;
  /** Whether the values are texts, in which the quick search looks. */
  readonly isText?: true;
  /** All values in a condition, of a type with few values. */
  readonly choices?: readonly string[];
  /** The operators of a condition, the most useful first. */
  readonly operators: readonly Operator[];
  /** The operators that complete an expression. */
  readonly completions: readonly (Comparison | "in")[];
  /** The values that complete an expression, besides the field's own values. */
  readonly values: readonly Suggestion[];
  /** Reads the value of a condition; null for a text that is no value of the type. */
  readonly read: (typed: string) => Operand | null;
  /** Reads a text of the form; without this function, a text is a value of the type. */
  readonly parse?: (typed: string) => Parsed;
  /** The default that a field begins with. */
  readonly firstDefault: string;
  /** Whether a default is a value of the type. @param typed the text in the form. */
  readonly isDefault: (value: JsonValue, typed: string) => boolean;
  /** A value for examples; undefined for ids, which no example can know. */
  readonly example?: JsonValue;
  readonly Cell: ComponentType<CellProps>;
  readonly control: Preloadable<ControlProps>;
}

export function operandWith(value: string | number | boolean): Operand {
  return { type: "value", value };
}

/** Reads an id, or another text value; spaces around the value are removed. */
export function readTrimmed(typed: string): Operand | null {
  return typed.trim() === "" ? null : operandWith(typed.trim());
}

export function words(type: FieldType): FieldKind["words"] {
  return text.schema.types[type];
}

export const ordered = ["=", "!=", ">", ">=", "<", "<=", "in"] as const;
export const nullness = ["isNull", "isNotNull"] as const;
