/** Schemas for people: a type in the form of TypeScript, and an example of a value. */
import { lastPart, type Schema } from "./operations.ts";

export type Schemas = { readonly [name: string]: Schema };

/** Levels of objects that are shown; deeper objects are named. */
const maxDepth = 4;

function resolved(schema: Schema, schemas: Schemas): Schema {
  return schema.$ref === undefined ? schema : (schemas[lastPart(schema.$ref)] ?? {});
}

function typesOf({ type }: Schema): readonly string[] {
  if (type === undefined) return [];
  return typeof type === "string" ? [type] : type;
}

/** A type as text: `{ title: string; status?: "todo" | "done" }`, an object on several lines. */
export function typeText(schema: Schema, schemas: Schemas, depth = 0): string {
  if (schema.$ref !== undefined && depth >= maxDepth) return lastPart(schema.$ref);
  const whole = resolved(schema, schemas);
  if (whole.anyOf !== undefined && whole.properties === undefined)
    return [...new Set(whole.anyOf.map((each) => typeText(each, schemas, depth)))].join(" | ");
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum !== undefined) return whole.enum.map((each) => JSON.stringify(each)).join(" | ");
  const types = typesOf(whole).map((type) => plainText(type, whole, { schemas, depth }));
  return types.length === 0 ? "any" : types.join(" | ");
}

function plainText(type: string, schema: Schema, { schemas, depth }: { schemas: Schemas; depth: number }): string {
  if (type === "array") {
    const item = typeText(schema.items ?? {}, schemas, depth);
    return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (type !== "object") return type === "string" && schema.format !== undefined ? `string (${schema.format})` : type;
  if (schema.properties === undefined) {
    const { additionalProperties: values } = schema;
    return typeof values === "object" ? `{ [name]: ${typeText(values, schemas, depth)} }` : "object";
  }
  const indent = "  ".repeat(depth + 1);
  const lines = Object.entries(schema.properties).map(([name, member]) => {
    const mark = schema.required?.includes(name) === true ? "" : "?";
    return `${indent}${name}${mark}: ${typeText(member, schemas, depth + 1)}`;
  });
  return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
}

/** A value to begin with: the required members of an object, or all members of an object without required members. */
export function exampleOf(schema: Schema, schemas: Schemas, depth = 0): unknown {
  const whole = resolved(schema, schemas);
  if (whole.const !== undefined) return whole.const;
  if (whole.enum !== undefined) return whole.enum[0];
  const [type = whole.properties === undefined ? "any" : "object"] = typesOf(whole);
  if (type === "object") return exampleObject(whole, schemas, depth);
  if (type === "array") return depth < maxDepth ? [exampleOf(whole.items ?? {}, schemas, depth + 1)] : [];
  const [first] = whole.anyOf ?? [];
  if (type === "any") return first === undefined ? null : exampleOf(first, schemas, depth);
  if (type === "string") return whole.format === "date-time" ? "2026-03-01T09:30:00Z" : "";
  return type === "boolean" ? false : 0;
}

function exampleObject({ properties = {}, required = [] }: Schema, schemas: Schemas, depth: number): object {
  if (depth >= maxDepth) return {};
  const all = Object.entries(properties).filter(([, member]) => !("readOnly" in member));
  const chosen = required.length === 0 ? all : all.filter(([name]) => required.includes(name));
  return Object.fromEntries(chosen.map(([name, member]) => [name, exampleOf(member, schemas, depth + 1)]));
}
