/** SQL texts: parts of a statement with the constants for their `?`, and their joins. */
import type { Constant, Member } from "../expression.ts";

/** A part of an SQL text and the constants that stand for its `?`, in their order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Constant[];
}

export function plain(text: string): Sql {
  return { text, values: [] };
}

/**
 * A `?` and its constant. With a sign: a column that equals a bare parameter takes its place in ORDER BY, and SQLite then plans the
 * statement anew for each value (4 µs).
 */
export function parameter(value: Constant): Sql {
  return { text: "+?", values: [value] };
}

/** A `?` and its text. */
export function textParameter(value: string): Sql {
  return parameter({ type: "value", value, valueType: "text" });
}

export function join(parts: readonly (string | Sql)[]): Sql {
  return {
    text: parts.map((part) => (typeof part === "string" ? part : part.text)).join(""),
    values: parts.flatMap((part) => (typeof part === "string" ? [] : part.values)),
  };
}

export function separated(parts: readonly Sql[], separator: string): Sql {
  return join(parts.flatMap((part, i) => (i === 0 ? [part] : [separator, part])));
}

export function allOf(conditions: readonly Sql[]): Sql {
  return separated(conditions, " AND ");
}

/** The condition, or its exact opposite: not true. */
export function opposite(condition: Sql, negated: boolean): Sql {
  return negated ? join(["(", condition, ") IS NOT TRUE"]) : condition;
}

/** The names of members as SQLite writes a path into JSON, after its beginning. */
export function memberPath(members: readonly Member[]): string {
  return members.map((member) => (typeof member === "number" ? `[${member}]` : `."${member}"`)).join("");
}
