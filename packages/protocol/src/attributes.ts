/**
 * Attributes of fields as data: the form of the value, the fields that may have the attribute, and the limits of a definition. The
 * validation of the service, the plans of migrations, and the forms of the dashboard read the table. A new attribute is a property
 * of `FieldDefinition` and a row of the table.
 */
import { FIELD_TYPES, type FieldDefinition, type FieldType, ON_DELETE, TEXT_FORMATS, USERS } from "./collections.ts";
import { VECTOR_METRICS } from "./vector.ts";

/** The limits of a definition. */
export const DEFINITION_LIMITS = {
  /** SQLite allows 2,000 columns; a form of more fields is not readable. */
  fields: 500,
  /** Every write of a record writes all indexes. */
  indexes: 20,
  indexFields: 8,
  /** Each searched field makes changes dearer. */
  searched: 10,
  /** A longer choice is a collection, with a relation to the collection. */
  values: 200,
  /** Characters of a value, which stands in one line of a form. */
  valueLength: 100,
  /** Items of a multiple field: each item is a row of the field's index. */
  items: 1_000,
  /** Items of a multiple field without `max`. */
  itemsByDefault: 100,
  /** Fields that divide the count of a sequence. */
  scope: 4,
  /** Characters of the query of a view. */
  query: 16_384,
} as const;

/** The types of the fields that may divide the count of a sequence: short values with a single form. */
export const SCOPE_TYPES: readonly FieldType[] = ["string", "integer", "boolean", "datetime", "relation", "file"];

/** The forms of the values of attributes. */
const forms = {
  boolean: (value: unknown) => typeof value === "boolean",
  number: (value: unknown) => typeof value === "number" && Number.isFinite(value),
  string: (value: unknown) => typeof value === "string",
  collection: (value: unknown) => typeof value === "string",
  unique: (value: unknown) => typeof value === "boolean" || value === "nocase",
  format: (value: unknown) => TEXT_FORMATS.some((format) => format === value),
  metric: (value: unknown) => VECTOR_METRICS.some((metric) => metric === value),
  onDelete: (value: unknown) => ON_DELETE.some((action) => action === value),
  /** Texts, or texts with the former names. */
  values: (value: unknown) => Array.isArray(value) && value.every(isValueOrRename),
  scope: (value: unknown) => value === true || (Array.isArray(value) && value.every(forms.string)),
  rules: isPlainObject,
  any: () => true,
  /** Attributes of a change, which are not stored. */
  formerName: (value: unknown) => value === null || typeof value === "string",
  formerType: (value: unknown) => value === "integer",
};
export type AttributeForm = keyof typeof forms;

export type AttributeName = Exclude<keyof FieldDefinition, "name" | "type">;

interface Attribute {
  readonly form: AttributeForm;
  /** The types of the fields that may have the attribute. */
  readonly types?: readonly FieldType[];
  /** The relations that may have the attribute: to users, or to collections. */
  readonly target?: "users" | "collections";
  /** The attributes that mean nothing beside the attribute. */
  readonly excludes?: readonly AttributeName[];
  /** Whether a change of the attribute is a change of the rules of the field, in the plan of a migration. */
  readonly isRule?: true;
}

const texts: readonly FieldType[] = ["string", "text"];
const bounded: readonly FieldType[] = [...texts, "integer", "float"];

/** Each attribute of a field. Without `types` and `target`, every field may have the attribute. */
export const ATTRIBUTES: { readonly [name in AttributeName]: Attribute } = {
  required: { form: "boolean" },
  min: { form: "number", types: bounded, isRule: true },
  max: { form: "number", types: bounded, isRule: true },
  regex: { form: "string", types: texts, isRule: true },
  unique: {
    form: "unique",
    types: FIELD_TYPES.filter((type) => type !== "json" && type !== "geo" && type !== "vector"),
  },
  format: { form: "format", types: texts, isRule: true },
  dimensions: { form: "number", types: ["vector"] },
  metric: { form: "metric", types: ["vector"], isRule: true },
  collection: { form: "collection", types: ["relation"] },
  owner: { form: "boolean", types: ["relation"], target: "users" },
  onDelete: { form: "onDelete", types: ["relation"] },
  // A stranger's record would keep the target from deletion, or go with the target.
  anyTarget: { form: "boolean", types: ["relation"], target: "collections", excludes: ["onDelete"], isRule: true },
  // A number is never empty and never given twice.
  sequence: { form: "scope", types: ["integer"], excludes: ["required", "unique", "min", "max", "default"] },
  default: { form: "any", types: FIELD_TYPES.filter((type) => type !== "file"), target: "users", excludes: ["owner"] },
  multiple: { form: "boolean", types: ["string", "relation", "file"], excludes: ["unique", "owner"] },
  values: { form: "values", types: ["string"], excludes: ["min", "max", "regex", "format"] },
  permissions: { form: "rules" },
};

/** The attributes of a collection, in a file and in a change. */
export const DEFINITION_ATTRIBUTES = [
  "name",
  "query",
  "fields",
  "reads",
  "permissions",
  "indexes",
  "search",
  "history",
  "trash",
  "renamedFrom",
  "$schema",
];

/** The attributes of a field in the order in which definitions are stored. */
export const ATTRIBUTE_NAMES = Object.keys(ATTRIBUTES) as AttributeName[];

/** Whether a value has the form of an attribute. No form allows null, except `formerName`: null stands for an absent attribute. */
export function hasForm(form: AttributeForm, value: unknown): boolean {
  return forms[form](value);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isValueOrRename(value: unknown): boolean {
  if (!isPlainObject(value)) return typeof value === "string";
  const { name, renamedFrom = null, ...others } = value;
  return typeof name === "string" && forms.formerName(renamedFrom) && Object.keys(others).length === 0;
}

/** Whether no two records may have the same value in a field. */
export function isUnique({ unique = false }: Pick<FieldDefinition, "unique">): boolean {
  return unique !== false;
}

/** The measure of `min` and `max`: the length in code points, the value, or the number of items. */
export type Bounds = "length" | "value" | "items";

/** The measure of the bounds of a field; null for a field without bounds. */
export function boundsOf({ type, multiple }: Pick<FieldDefinition, "type" | "multiple">): Bounds | null {
  if (multiple === true && ATTRIBUTES.multiple.types?.includes(type)) return "items";
  if (type === "string" || type === "text") return "length";
  return type === "integer" || type === "float" ? "value" : null;
}

/** Whether a field may have an attribute, whatever stands beside the attribute. */
export function mayHave(
  field: Pick<FieldDefinition, "type" | "collection" | "multiple">,
  name: AttributeName,
): boolean {
  const { types, target } = ATTRIBUTES[name];
  if (name === "min" || name === "max") return boundsOf(field) !== null;
  if (types?.includes(field.type) === false) return false;
  return field.type !== "relation" || target === undefined || (target === "users") === (field.collection === USERS);
}

/** The attributes that mean nothing beside an attribute of a field. */
export function excludedBeside(field: FieldDefinition, name: AttributeName): readonly AttributeName[] {
  const { excludes = [] } = ATTRIBUTES[name];
  if (field[name] === undefined || field[name] === false) return [];
  // The bounds of a multiple field count the items.
  return name === "values" && field.multiple === true ? ["regex", "format"] : excludes;
}

/** The attributes that a field may have beside the attributes that the field has. */
export function attributesFor(field: FieldDefinition): ReadonlySet<AttributeName> {
  const possible = ATTRIBUTE_NAMES.filter((name) => mayHave(field, name));
  const excluded = new Set(possible.flatMap((name) => excludedBeside(field, name)));
  return new Set(possible.filter((name) => !excluded.has(name)));
}

/** The parts of a field that decide about indexes and the search; the type may be unknown. */
type Shape = Readonly<Record<"type", unknown> & Pick<FieldDefinition, "multiple">>;

/** Whether an index can hold the values of a field: short values with an order. */
export function isIndexable({ type, multiple }: Shape): boolean {
  return type !== "json" && type !== "vector" && multiple !== true;
}

/** Whether the search can find the words of a field. */
export function isSearchable({ type, multiple }: Shape): boolean {
  return texts.some((each) => each === type) && multiple !== true;
}
