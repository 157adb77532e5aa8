/** Completion of an expression: fields and paths, operators, or values, by what may follow at the position. */
import type { FieldDefinition } from "@socle/protocol";
import { placeAfter } from "./place.ts";
import { fieldsOf, follow, pointersTo, type Schema } from "./schema.ts";
import { comparisons, tokensOf, writeLiteral } from "./tokens.ts";

interface Completion {
  readonly label: string;
  readonly kind: "field" | "operator" | "value";
  readonly detail: string;
}

export interface Completions {
  /** Where the word begins that a completion replaces. */
  readonly from: number;
  readonly options: readonly Completion[];
}

const most = 100;
const word = /[@\p{L}_$][\p{L}\p{N}_.$-]*$/u;

type Texts = readonly (readonly [label: string, detail: string])[];

const caller: Texts = [
  ["@user.id", "who asks"],
  ["@user.role", "their role"],
  ["@user.email", "their email"],
];

const functions: Texts = [
  ["lower(", "a text in lower case"],
  ["length(", "characters of a text, items of an array"],
];

const times: Texts = [
  ["@now", "the time of the request"],
  ["@today", "the beginning of today, UTC"],
  ["@now - 7d", "a week ago; s, m, h, d or w"],
];

const operatorDetails: { readonly [operator: string]: string } = {
  "=": "equal",
  "!=": "not equal",
  ">": "greater",
  ">=": "greater or equal",
  "<": "less",
  "<=": "less or equal",
  "~": "contains",
  "!~": "does not contain",
  in: "one of (a, b)",
};

const joins: Texts = [
  ["&&", "and"],
  ["||", "or"],
];

function operatorsFor(field: FieldDefinition | undefined): readonly string[] {
  if (field?.values !== undefined) return ["=", "!=", "in", ">", ">=", "<", "<=", "~", "!~"];
  switch (field?.type) {
    case "integer":
    case "float":
    case "datetime":
      return ["=", "!=", ">", ">=", "<", "<=", "in"];
    case "boolean":
    case "relation":
    case "file":
      return ["=", "!=", "in"];
    case "string":
    case "text":
      return ["=", "!=", "~", "!~", "in", ">", ">=", "<", "<="];
    default:
      return [...comparisons, "in"];
  }
}

/** The words of a pattern that is a list of them, such as `^(owner|guest)$`. */
function wordsOf({ regex = "" }: FieldDefinition): string[] {
  const list = /^\^\(([\w |-]+)\)\$$/.exec(regex)?.[1];
  return list === undefined ? [] : list.split("|");
}

function valuesFor(field: FieldDefinition | undefined): Texts {
  const none = ["null", "no value"] as const;
  const [id = ["@user.id", ""] as const, , email = ["@user.email", ""] as const] = caller;
  if (field === undefined) return [none, ...caller];
  if (field.values !== undefined) return [...field.values.map((value) => [writeLiteral(value), ""] as const), none];
  switch (field.type) {
    case "boolean":
      return [["true", ""], ["false", ""], none];
    case "datetime":
      return [...times, none];
    case "relation":
      return [id, none];
    case "integer":
    case "float":
      return [none];
    default:
      return [...wordsOf(field).map((value) => [writeLiteral(value), ""] as const), none, id, email];
  }
}

/** The fields of a collection, and ways back to it: paths begin with `prefix`. */
function names(schema: Schema, collection: string, prefix: string): Texts {
  const fields = fieldsOf(schema, collection).map(
    ({ name, type, collection: target }) => [`${prefix}${name}`, target ?? type] as const,
  );
  const back = pointersTo(schema, collection).map(
    ({ from, field }) => [`${prefix}${from}(${field})`, `${from} that point here`] as const,
  );
  return [...fields.slice(0, most), ...back.slice(0, most)];
}

/** Fields of the record that can be equal to the left side of a comparison. */
function alike(schema: Schema, collection: string | null, left: FieldDefinition | undefined): Texts {
  if (collection === null || left?.type !== "relation") return [];
  return (schema.fields(collection) ?? [])
    .filter(
      ({ type, collection: target, name }) => type === "relation" && target === left.collection && name !== left.name,
    )
    .map(({ name }) => [name, "a field of the record"] as const);
}

/** The completions at the end of a text; null where there are none. */
export function completionsAt(before: string, schema: Schema, collection: string): Completions | null {
  const typed = word.exec(before)?.[0] ?? "";
  const from = before.length - typed.length;
  const tokens = tokensOf(before.slice(0, from));
  // A text that is open has no completions inside.
  if (tokens === null) return null;
  const place = placeAfter(tokens, schema, collection);
  const { expected, left } = place;
  const options = (kind: Completion["kind"], texts: Texts): Completions => ({
    from,
    options: texts.map(([label, detail]) => ({ label, kind, detail })),
  });
  switch (expected) {
    case "operand":
    case "step": {
      const hops = typed.split(".").slice(0, -1);
      const at = place.at === null ? null : follow(schema, place.at, hops);
      const known = at === null ? [] : names(schema, at, hops.map((hop) => `${hop}.`).join(""));
      return options("field", [
        ...known,
        ...(hops.length === 0 && expected === "operand" ? [...functions, ...caller] : []),
      ]);
    }
    case "pointer": {
      const fields = pointersTo(schema, place.at ?? "").filter((pointer) => pointer.from === place.from);
      return options(
        "field",
        fields.map(({ field }) => [`${field})`, "points here"]),
      );
    }
    case "operator":
      return options(
        "operator",
        operatorsFor(left).map((label) => [label, operatorDetails[label] ?? ""]),
      );
    case "value":
      return options("value", [...valuesFor(left), ...alike(schema, collection, left)]);
    case "after":
      return options("operator", [
        ["[", "one record that fulfils all of it"],
        [".", "a field of such a record"],
        ...joins,
      ]);
    case "join":
      return options("operator", joins);
    default:
      return null;
  }
}

/** Where the service's message says that the mistake is, from 0; null for a message without a position. */
export function errorPosition(message: string): number | null {
  const found = /at position (\d+):/.exec(message)?.[1];
  return found === undefined ? null : Number(found) - 1;
}
