/** Completion of an expression: fields and paths, operators, or values, by the pieces that may follow at the position. */
import { filter } from "@socle/client";
import type { FieldDefinition } from "@socle/protocol";
import { comparisons, FilterSyntaxError, tokensOf } from "@socle/protocol/filter";
import { callerEmail, callerId, kinds, noValue, ordered } from "../../fields/index.ts";
import { type Place, placeAfter } from "./place.ts";
import { fieldsOf, follow, pointersTo, type Schema } from "./schema.ts";

interface Completion {
  readonly label: string;
  readonly kind: "field" | "operator" | "value";
  readonly detail: string;
}

export interface Completions {
  /** The offset of the word that a completion replaces. */
  readonly from: number;
  readonly options: readonly Completion[];
}

const most = 100;
const word = /[@\p{L}_$][\p{L}\p{N}_.$-]*$/u;

type Texts = readonly (readonly [label: string, detail: string])[];

const caller: Texts = [
  callerId,
  ["@user.role", "their role"],
  callerEmail,
  ["@user.anonymous", "whether they are an anonymous user"],
];

const functions: Texts = [
  ["lower(", "a text in lower case"],
  ["length(", "characters of a text, items of an array"],
  ["distance(", "metres from a place to a latitude and a longitude"],
  ["every(", "all records at the end of a path fulfil a condition"],
];

/** The beginning of a path from the record of the whole expression. */
const ofRecord = "@record";

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
  if (field?.values !== undefined) return [...ordered, "~", "!~"];
  return field === undefined ? [...comparisons, "in"] : kinds[field.type].completions;
}

/** The words of a pattern that is a list of words, as in `^(owner|guest)$`. */
function wordsOf({ regex = "" }: FieldDefinition): string[] {
  const list = /^\^\(([\w |-]+)\)\$$/.exec(regex)?.[1];
  return list === undefined ? [] : list.split("|");
}

function valuesFor(field: FieldDefinition | undefined): Texts {
  if (field === undefined) return [noValue, ...caller];
  const known = (field.values ?? wordsOf(field)).map((value) => [filter`${value}`, ""] as const);
  return [...known, ...(field.values === undefined ? kinds[field.type].values : [noValue])];
}

/** The fields of a collection, and the backward steps to the collection: paths begin with `prefix`. */
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

/** The place behind a text; null for a text with a syntax error, such as an unclosed string. */
function placeOf(before: string, schema: Schema, collection: string): Place | null {
  try {
    return placeAfter(tokensOf(before), schema, collection);
  } catch (error) {
    if (error instanceof FilterSyntaxError) return null;
    throw error;
  }
}

/** The completions at the end of a text; null for no completions. */
export function completionsAt(before: string, schema: Schema, collection: string): Completions | null {
  const typed = word.exec(before)?.[0] ?? "";
  const from = before.length - typed.length;
  const place = placeOf(before.slice(0, from), schema, collection);
  if (place === null) return null;
  const { expected, left } = place;
  const options = (kind: Completion["kind"], texts: Texts): Completions => ({
    from,
    options: texts.map(([label, detail]) => ({ label, kind, detail })),
  });
  const hops = typed.split(".").slice(0, -1);
  const isOfRecord = hops[0] === ofRecord && expected !== "step";
  const start = isOfRecord ? collection : place.at;
  const at = start === null ? null : follow(schema, start, isOfRecord ? hops.slice(1) : hops);
  const paths = at === null ? [] : names(schema, at, hops.map((hop) => `${hop}.`).join(""));
  const root: Texts = place.isInside ? [[`${ofRecord}.`, "the record itself, outside of the brackets"]] : [];
  switch (expected) {
    case "operand":
    case "step": {
      const isFirst = hops.length === 0 && expected === "operand";
      if (place.isPathOfEvery) return options("field", [...paths, ...(isFirst ? root : [])]);
      return options("field", [...paths, ...(isFirst ? [...functions, ...caller, ...root] : [])]);
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
      if (isOfRecord) return options("field", paths);
      return options("value", [...valuesFor(left), ...alike(schema, collection, left), ...root]);
    case "after":
      return options("operator", [
        ["[", "a record that fulfils the whole condition"],
        [".", "a field of that record"],
        ...(place.isPathOfEvery ? [[",", "the condition that every record fulfils"] as const] : joins),
      ]);
    case "join":
      return options("operator", joins);
    default:
      return null;
  }
}

/** The position of the mistake by the service's message, from 0; null for a message without a position. */
export function errorPosition(message: string): number | null {
  const found = /at position (\d+):/.exec(message)?.[1];
  return found === undefined ? null : Number(found) - 1;
}
