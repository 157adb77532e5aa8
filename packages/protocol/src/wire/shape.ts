/**
 * Shapes: the declaration of a value on the wire. A shape is the TypeScript type of the value, reads the value from the body of a
 * request with all problems at once, and has the JSON Schema for the OpenAPI document. A named shape is made at the first use.
 */
import type { JsonValue } from "../collections.ts";
import type { ErrorDetail } from "../errors.ts";

/** A JSON Schema (draft 2020-12): keywords and values. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Takes the problems of a body. */
export interface Problems {
  add(detail: ErrorDetail): undefined;
  /** A value that is none of a few texts. */
  refuseChoice(field: string, value: unknown, allowed: readonly string[]): undefined;
  /** A member that a body does not take. */
  refuseMember(name: string, allowed: readonly string[]): undefined;
}

export interface Shape<T> {
  readonly schema: JsonSchema;
  /**
   * The value in the declared form; undefined for a value with problems, which are added.
   * @param value undefined for an absent value. @param field the path of the value in the body.
   */
  read(value: unknown, field: string, problems: Problems): T | undefined;
}

export type TypeOf<S> = S extends Shape<infer T> ? T : never;

/** A member of an object that may be absent; null counts as absent. */
interface OptionalMember<T> {
  readonly optional: Shape<T>;
  /** Whether an empty text counts as absent. */
  readonly isEmptyAbsent: boolean;
}

type Members = { readonly [name: string]: Shape<unknown> | OptionalMember<unknown> };

type Flat<T> = { [K in keyof T]: T[K] };

/** The type of an object with these members. */
export type ObjectOf<M> = Flat<
  { -readonly [K in keyof M as M[K] extends OptionalMember<unknown> ? never : K]: TypeOf<M[K]> } & {
    -readonly [K in keyof M as M[K] extends OptionalMember<unknown> ? K : never]?: M[K] extends OptionalMember<infer T>
      ? T
      : never;
  }
>;

/** A shape with a name in the components of the document. */
export class Named<T> implements Shape<T> {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly #make: () => Shape<T>;
  #made: Shape<T> | null = null;

  constructor(name: string, make: () => Shape<T>) {
    this.name = name;
    this.schema = { $ref: `#/components/schemas/${name}` };
    this.#make = make;
  }

  get #shape(): Shape<T> {
    this.#made ??= this.#make();
    return this.#made;
  }

  /** The schema that the name stands for. */
  get definition(): JsonSchema {
    return this.#shape.schema;
  }

  read(value: unknown, field: string, problems: Problems): T | undefined {
    return this.#shape.read(value, field, problems);
  }
}

export function named<T>(name: string, make: () => Shape<T>): Named<T> {
  return new Named(name, make);
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** A value of a JavaScript type. @param noun completes "must be …". */
export function typed<T>(schema: JsonSchema, is: (value: unknown) => value is T, noun: string): Shape<T> {
  return {
    schema,
    read(value, field, problems) {
      if (is(value)) return value;
      if (isAbsent(value)) return problems.add({ field, rule: "required", message: `${field} is required` });
      return problems.add({ field, rule: "type", message: `${field} must be ${noun}` });
    },
  };
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}

function isCount(value: unknown): value is number {
  return isWhole(value) && value >= 0;
}

/** A text that a column of the database can hold. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0");
}

function isMap(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Everything in a body is JSON. */
function isJson(value: unknown): value is JsonValue {
  return value !== undefined;
}

const plainText = typed({ type: "string" }, isText, "a string");
export const string = plainText;
/** A token of any characters: an unknown token is refused by the look-up, not by the form. */
export const token = typed({ type: "string" }, (value): value is string => typeof value === "string", "a string");
export const time = typed({ type: "string", format: "date-time" }, isText, "a datetime");
export const boolean = typed({ type: "boolean" }, isBoolean, "true or false");
export const number = typed({ type: "number" }, isNumber, "a number");
export const integer = typed({ type: "integer" }, isWhole, "an integer");
export const count = typed({ type: "integer", minimum: 0 }, isCount, "an integer from 0");
export const anything = typed({}, isJson, "JSON");
/** Any members: without the keyword, generators of types take the object for empty. */
export const freeObject = typed({ type: "object", additionalProperties: true }, isMap, "an object");

/** A text that is not empty: in a body, an empty text counts as absent. */
export const text: Shape<string> = {
  schema: { type: "string" },
  read: (value, field, problems) => plainText.read(value === "" ? undefined : value, field, problems),
};

/** A text with a form. @param problem of a text with another form. */
export function textOf(schema: JsonSchema, isGood: (text: string) => boolean, problem: string): Shape<string> {
  return {
    schema: { type: "string", ...schema },
    read(value, field, problems) {
      const given = text.read(value, field, problems);
      if (given === undefined || isGood(given)) return given;
      return problems.add({ field, rule: "regex", message: problem });
    },
  };
}

/** A few texts. */
export function enumOf<const T extends string>(values: readonly T[]): Shape<T> {
  return {
    schema: { type: "string", enum: [...values] },
    read(value, field, problems) {
      return values.find((each) => each === value) ?? problems.refuseChoice(field, value, values);
    },
  };
}

export function constant<const T extends string>(value: T): Shape<T> {
  const is = (given: unknown): given is T => given === value;
  return typed({ type: "string", const: value }, is, JSON.stringify(value));
}

export const yes = typed({ type: "boolean", const: true }, (value): value is true => value === true, "true");

/** Answers the array without the items with problems, which are added. */
export function arrayOf<T>(item: Shape<T>, keywords: JsonSchema = {}): Shape<T[]> {
  return {
    schema: { type: "array", items: item.schema, ...keywords },
    read(value, field, problems) {
      if (isAbsent(value)) return problems.add({ field, rule: "required", message: `${field} is required` });
      if (!Array.isArray(value)) return problems.add({ field, rule: "type", message: `${field} must be an array` });
      return value.flatMap((each: unknown, index) => item.read(each, `${field}[${index}]`, problems) ?? []);
    },
  };
}

export function mapOf<T>(values: Shape<T>): Shape<{ [name: string]: T }> {
  return {
    schema: { type: "object", additionalProperties: values.schema },
    read(value, field, problems) {
      if (!isMap(value)) return freeObject.read(value, field, problems) && undefined;
      const read = Object.entries(value).flatMap(([name, each]): [string, T][] => {
        const member = values.read(each, `${field}.${name}`, problems);
        return member === undefined ? [] : [[name, member]];
      });
      // A member may be called __proto__.
      return Object.fromEntries(read);
    },
  };
}

/** The schema that null fulfils, too. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type, enum: values } = schema;
  if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) };
}

/** The value, or null. */
export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    schema: nullable(shape.schema),
    read: (value, field, problems) => (value === null ? null : shape.read(value, field, problems)),
  };
}

/** Whether a value has problems. */
class AnyProblem implements Problems {
  isThere = false;

  add(): undefined {
    this.isThere = true;
  }

  refuseChoice(): undefined {
    this.isThere = true;
  }

  refuseMember(): undefined {
    this.isThere = true;
  }
}

/** The first of two to four forms that the value has. */
export function either<A, B, C = never, D = never>(
  ...shapes: [Shape<A>, Shape<B>, Shape<C>?, Shape<D>?]
): Shape<A | B | C | D> {
  const forms = shapes.filter((shape) => shape !== undefined);
  return {
    schema: { anyOf: forms.map(({ schema }) => schema) },
    read(value, field, problems) {
      for (const form of forms) {
        const problem = new AnyProblem();
        const read = form.read(value, field, problem);
        if (!problem.isThere) return read;
      }
      return problems.add({ field, rule: "type", message: `${field} has another form` });
    },
  };
}

export function about<T>(shape: Shape<T>, description: string): Shape<T> {
  return {
    schema: { ...shape.schema, description },
    read: (value, field, problems) => shape.read(value, field, problems),
  };
}

export function optional<T>(shape: Shape<T>): OptionalMember<T> {
  return { optional: shape, isEmptyAbsent: false };
}

/** A text that may be absent, or empty, which means the same. */
export function optionalText(shape: Shape<string> = string): OptionalMember<string> {
  return { optional: shape, isEmptyAbsent: true };
}

/** The members that an object may have beside the declared members. */
type Others = "ignored" | "unknown" | "refused";

function objectWith<M extends Members>(members: M, others: Others): Shape<ObjectOf<M>> {
  const entries = Object.entries<Shape<unknown> | OptionalMember<unknown>>(members);
  const required = entries.flatMap(([name, member]) => ("optional" in member ? [] : [name]));
  const properties = entries.map(([name, member]) => [name, ("optional" in member ? member.optional : member).schema]);
  const names = entries.map(([name]) => name);
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      ...(others !== "ignored" && { additionalProperties: false }),
    },
    read(value, field, problems) {
      if (!isMap(value)) return freeObject.read(value, field, problems) && undefined;
      const path = field === "" ? "" : `${field}.`;
      const foreign = others === "ignored" ? [] : Object.keys(value).filter((name) => !Object.hasOwn(members, name));
      if (others === "refused") for (const name of foreign) problems.refuseMember(path + name, names);
      const read: { [name: string]: unknown } = {};
      for (const [name, member] of entries) {
        const given = Object.hasOwn(value, name) ? value[name] : undefined;
        const isOptional = "optional" in member;
        if (isOptional && (isAbsent(given) || (member.isEmptyAbsent && given === ""))) continue;
        const shape = isOptional ? member.optional : member;
        read[name] = shape.read(given, path + name, problems);
      }
      if (others === "unknown")
        for (const name of foreign)
          problems.add({ field: path + name, rule: "unknown", message: `${path}${name} is unknown` });
      // The members were read by the shapes that the type is made of.
      return read as ObjectOf<M>;
    },
  };
}

/** An object. In a body, other members are ignored. */
export function object<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return objectWith(members, "ignored");
}

/** An object of a body that must not have other members. */
export function closed<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return objectWith(members, "unknown");
}

/** The same for changes by admins, where another member is refused with `bad_request`. */
export function only<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return objectWith(members, "refused");
}

/** A list that is answered whole. */
export function listOf<T>(item: Shape<T>): Shape<{ items: T[] }> {
  return object({ items: arrayOf(item) });
}

/** A page of a list of the admin API. */
export function pageOf<T>(item: Shape<T>): Shape<{ items: T[]; total: number; limit: number; offset: number }> {
  return object({ items: arrayOf(item), total: count, limit: count, offset: count });
}
