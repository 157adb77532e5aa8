/** Completion of an expression: fields and paths, operators, or values, by what may follow at the position. */
import type { FieldDefinition } from "@socle/protocol";
import { systemFields } from "./builder.ts";
import { comparisons, type Token, tokensOf, writeLiteral } from "./expression.ts";

/** The fields of a collection by its name; undefined for one that is not known. */
export type Schema = (collection: string) => readonly FieldDefinition[] | undefined;

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
const maxHops = 3;
const word = /[@\p{L}_$][\p{L}\p{N}_.$-]*$/u;

const userFields: readonly FieldDefinition[] = [
  { name: "id", type: "string" },
  { name: "email", type: "string" },
  { name: "role", type: "string" },
  { name: "createdAt", type: "datetime" },
];

function fieldsOf(schema: Schema, collection: string): readonly FieldDefinition[] {
  if (collection === "users") return userFields;
  const fields = schema(collection);
  return fields === undefined ? [] : [...fields, ...systemFields];
}

/** The fields at the end of a path's relations. */
function follow(schema: Schema, collection: string, hops: readonly string[]): readonly FieldDefinition[] {
  if (hops.length > maxHops) return [];
  let at = collection;
  for (const hop of hops) {
    const field = fieldsOf(schema, at).find(({ name }) => name === hop);
    if (field?.type !== "relation" || field.collection === undefined) return [];
    at = field.collection;
  }
  return fieldsOf(schema, at);
}

/** The field that a path leads to, or begins its JSON; undefined for one that is not known. */
export function fieldOfPath(schema: Schema, collection: string, path: string): FieldDefinition | undefined {
  const names = path.split(".");
  for (let i = 0; i < names.length; i += 1) {
    const field = follow(schema, collection, names.slice(0, i)).find(({ name }) => name === names[i]);
    if (field === undefined) return undefined;
    if (field.type === "json" || i === names.length - 1) return field;
  }
  return undefined;
}

type Expected = "field" | "operator" | "value" | "join";

/** The kind of token that may follow these, and the path that a value is compared with. */
function expectedAfter(tokens: readonly Token[]): { expected: Expected; path: string | null } {
  let expected: Expected = "field";
  let path: string | null = null;
  let isList = false;
  for (const { type, text } of tokens) {
    if (type === "symbol" && (text === "&&" || text === "||" || text === "!")) {
      [expected, path, isList] = ["field", null, false];
    } else if (type === "symbol" && text === "(") {
      if (!isList) expected = "field";
    } else if (type === "symbol" && text === ")") {
      [expected, isList] = ["join", false];
    } else if (type === "symbol" && text === ",") {
      expected = "value";
    } else if (type === "symbol") {
      expected = "value";
    } else if (expected === "operator" && text === "in") {
      [expected, isList] = ["value", true];
    } else if (expected === "field" && type === "path") {
      [expected, path] = ["operator", text];
    } else {
      expected = isList ? "value" : "join";
    }
  }
  return { expected, path };
}

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

function valuesFor(field: FieldDefinition | undefined): readonly (readonly [string, string])[] {
  const none = ["null", "no value"] as const;
  if (field?.values !== undefined) return [...field.values.map((value) => [writeLiteral(value), ""] as const), none];
  switch (field?.type) {
    case "boolean":
      return [["true", ""], ["false", ""], none];
    case "datetime":
      return [["@now", "the time of the request"], ["@today", "the beginning of today, UTC"], none];
    case "relation":
      return [["@user.id", "who asks"], none];
    case "integer":
    case "float":
      return [none];
    default:
      return [none, ["@user.id", "who asks"]];
  }
}

/** The completions at the end of a text; null where there are none. */
export function completionsAt(before: string, schema: Schema, collection: string): Completions | null {
  const typed = word.exec(before)?.[0] ?? "";
  const from = before.length - typed.length;
  const tokens = tokensOf(before.slice(0, from));
  // A text that is open has no completions inside.
  if (tokens === null) return null;
  const { expected, path } = expectedAfter(tokens);
  const field = path === null ? undefined : fieldOfPath(schema, collection, path);
  const option = (kind: Completion["kind"], [label, detail]: readonly [string, string]): Completion => ({
    label,
    kind,
    detail,
  });
  switch (expected) {
    case "field": {
      const hops = typed.split(".").slice(0, -1);
      const prefix = hops.map((hop) => `${hop}.`).join("");
      const options = follow(schema, collection, hops)
        .slice(0, most)
        .map((field) => option("field", [`${prefix}${field.name}`, field.collection ?? field.type]));
      return { from, options };
    }
    case "operator":
      return {
        from,
        options: operatorsFor(field).map((label) => option("operator", [label, operatorDetails[label] ?? ""])),
      };
    case "value":
      return { from, options: valuesFor(field).map((each) => option("value", each)) };
    default:
      return {
        from,
        options: [option("operator", ["&&", "and"]), option("operator", ["||", "or"])],
      };
  }
}

/** Where the service's message says that the mistake is, from 0; null for a message without a position. */
export function errorPosition(message: string): number | null {
  const found = /at position (\d+):/.exec(message)?.[1];
  return found === undefined ? null : Number(found) - 1;
}
