/** JSON Schemas (draft 2020-12) of the document, and builders that the types of the wire check. */

/** A JSON Schema: keywords and values. `optional` is no keyword, and keeps apart the members that may be absent. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly optional?: never;
}

/** A member that may be absent. */
interface OptionalMember {
  readonly optional: Schema;
}

/** A schema for each member of a type; a member that may be absent is `optional`. */
type Shape<T> = { readonly [K in keyof T]-?: object extends Pick<T, K> ? OptionalMember : Schema };

export function optional(schema: Schema): OptionalMember {
  return { optional: schema };
}

/** The schema of a type of the wire. A member that the type has, and the shape has not, is an error of the compiler. */
export function objectOf<T extends object>(shape: Shape<T>): Schema {
  const members = Object.entries<Schema | OptionalMember>(shape);
  const properties = Object.fromEntries(
    members.map(([name, member]) => [name, member.optional === undefined ? member : member.optional]),
  );
  const required = members.flatMap(([name, member]) => (member.optional === undefined ? [name] : []));
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** The same object, of a request that the service refuses with another member. */
export function closed(schema: Schema): Schema {
  return { ...schema, additionalProperties: false };
}

export const string: Schema = { type: "string" };
export const time: Schema = { type: "string", format: "date-time" };
export const boolean: Schema = { type: "boolean" };
export const integer: Schema = { type: "integer" };
export const count: Schema = { type: "integer", minimum: 0 };
export const number: Schema = { type: "number" };
export const anything: Schema = {};
/** Any members: without the keyword, generators of types take the object for empty. */
export const freeObject: Schema = { type: "object", additionalProperties: true };

export function enumOf(values: readonly (string | number)[]): Schema {
  return { type: "string", enum: [...values] };
}

export function constant(value: string): Schema {
  return { type: "string", const: value };
}

export function arrayOf(items: Schema): Schema {
  return { type: "array", items };
}

export function mapOf(values: Schema): Schema {
  return { type: "object", additionalProperties: values };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The schema that null fulfils, too. */
export function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) };
}

export function about(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** A page of a list of the admin API. */
export function pageOf(items: Schema): Schema {
  return {
    type: "object",
    properties: { items: arrayOf(items), total: count, limit: count, offset: count },
    required: ["items", "total", "limit", "offset"],
  };
}

/** A list that is answered whole. */
export function listOf(items: Schema): Schema {
  return { type: "object", properties: { items: arrayOf(items) }, required: ["items"] };
}
