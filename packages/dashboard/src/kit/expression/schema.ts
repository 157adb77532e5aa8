/** The collections and fields that an expression can name. */
import { type FieldDefinition, USERS } from "@socle/protocol";

export interface Schema {
  /** The names of all collections; "users" only with a definition. */
  readonly collections: readonly string[];
  /** The fields of a collection by its name; undefined for an unknown collection. */
  fields(collection: string): readonly FieldDefinition[] | undefined;
}

/** The fields that every record has. */
export const systemFields: readonly FieldDefinition[] = [
  { name: "id", type: "string" },
  { name: "createdAt", type: "datetime" },
  { name: "updatedAt", type: "datetime" },
];

const userFields: readonly FieldDefinition[] = [
  { name: "id", type: "string" },
  { name: "email", type: "string" },
  { name: "role", type: "string", values: ["authenticated", "admin", "public"] },
  { name: "createdAt", type: "datetime" },
];

/** The most relations on a path. */
const maxHops = 5;

/** The schema of some collections. */
export function schemaOf(
  collections: readonly { readonly name: string; readonly fields: readonly FieldDefinition[] }[],
): Schema {
  const byName = new Map(collections.map(({ name, fields }) => [name, fields]));
  return { collections: [...byName.keys()], fields: (name) => byName.get(name) };
}

/** The fields of a collection, with the fields that every record has. */
export function fieldsOf(schema: Schema, collection: string): readonly FieldDefinition[] {
  const fields = schema.fields(collection);
  if (collection === USERS && fields === undefined) return userFields;
  return fields === undefined ? [] : [...fields, ...systemFields];
}

/** The collection at the end of a path's relations; null for a path that leads to no collection. */
export function follow(schema: Schema, collection: string, hops: readonly string[]): string | null {
  if (hops.length > maxHops) return null;
  let at = collection;
  for (const hop of hops) {
    const field = fieldsOf(schema, at).find(({ name }) => name === hop);
    if (field?.type !== "relation" || field.collection === undefined) return null;
    at = field.collection;
  }
  return at;
}

/** The field at the end of a path, or the JSON field that the path goes into; undefined for an unknown field. */
export function fieldOfPath(schema: Schema, collection: string, path: string): FieldDefinition | undefined {
  const names = path.split(".");
  for (let i = 0; i < names.length; i += 1) {
    const at = follow(schema, collection, names.slice(0, i));
    const field = at === null ? undefined : fieldsOf(schema, at).find(({ name }) => name === names[i]);
    if (field === undefined) return undefined;
    if (field.type === "json" || i === names.length - 1) return field;
  }
  return undefined;
}

/** The fields that point to records of a collection, each with its own collection. */
export function pointersTo(schema: Schema, collection: string): readonly { from: string; field: string }[] {
  return schema.collections.flatMap((from) =>
    (schema.fields(from) ?? [])
      .filter((field) => field.type === "relation" && field.collection === collection)
      .map((field) => ({ from, field: field.name })),
  );
}
