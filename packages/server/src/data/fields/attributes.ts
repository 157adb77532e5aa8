/**
 * Attributes: the properties of field definitions beyond the rules of the spec, with the checks and the effects on stored
 * values. A new attribute is an object below and a place in `attributes`.
 */
import { type FieldDefinition, type FieldType as FieldTypeName, type JsonValue, ON_DELETE } from "@socle/protocol";
import { oneOf, quote } from "../../base/kernel/index.ts";
import { literal, type Value } from "../../store/database/index.ts";
import { checkOf, type Pattern } from "./check-value.ts";
import { emptyOf, encodeText, maxItemsOf, multipleTypeNames, typeOf } from "./types.ts";

interface Attribute {
  readonly name: keyof FieldDefinition;
  /** The fields of the attribute, as the end of "it is for …". */
  readonly isFor: string;
  /** Whether the attribute applies to a field. */
  means(field: FieldDefinition): boolean;
  /** Attributes that cannot stand beside this attribute. Absent if all can. */
  excludes?(field: FieldDefinition): readonly (keyof FieldDefinition)[];
  /** The problems of the value, as ends of a sentence that begins with the name of the attribute. */
  problems(field: FieldDefinition, pattern: Pattern | undefined): string[];
}

/** The most items that a definition may allow: each item is a row of the field's index. */
const mostItems = 1_000;

/** The value is an array of items of the type. */
const multiple: Attribute = {
  name: "multiple",
  isFor: oneOf(multipleTypeNames),
  means: ({ type, multiple: isOn }) => isOn !== true || multipleTypeNames.includes(type),
  excludes: ({ multiple: isOn }) => (isOn === true ? ["unique", "owner"] : []),
  problems(field) {
    if (field.multiple !== true) return [];
    const { min = 0, max } = field;
    if (max !== undefined && (max < 1 || max > mostItems))
      return [`allows 1 to ${mostItems} items: "max" cannot be ${quote(max)}`];
    if (min > maxItemsOf(field)) return [`allows ${maxItemsOf(field)} items without "max", and "min" is ${min}`];
    return [];
  },
};

/** The most values, and the characters of a value. A longer choice is a collection, with a relation to the collection. */
const maxValues = 200;
const maxLength = 100;

/** A value stands in one line of a form. */
function isValue(text: string): boolean {
  const isLine = text !== "" && text.length <= maxLength && text.trim() === text && !/\p{Cc}/u.test(text);
  return isLine && encodeText(text) !== undefined;
}

/**
 * The allowed texts, in order. The column holds the text; a generated column beside the text holds the position among the
 * values, for sorting and for indexes. A new order is a new generated column: no record is written.
 */
const values: Attribute = {
  name: "values",
  isFor: "string",
  means: ({ type }) => type === "string",
  // For a multiple field, the bounds count the items.
  excludes: (field) => (field.multiple === true ? ["regex"] : ["min", "max", "regex"]),
  problems({ values: all = [] }) {
    if (all.length === 0 || all.length > maxValues) return [`lists 1 to ${maxValues} texts, not ${all.length}`];
    const odd = all.find((value) => !isValue(value));
    if (odd !== undefined)
      return [`lists texts of one line, 1 to ${maxLength} characters, without space at an end, not ${quote(odd)}`];
    const twin = all.find((value, i) => all.indexOf(value) < i);
    return twin === undefined ? [] : [`lists ${quote(twin)} twice`];
  },
};

/** The position of a text among the values, from 0, as SQL without parameters: an index contains the expression. */
export function positionSql(all: readonly string[], text: string): string {
  const cases = all.map((value, position) => ` WHEN ${literal(value)} THEN ${position}`);
  return `CASE ${text}${cases.join("")} END`;
}

/** The defaults that are another value for each record. */
const now = "@now";
const caller = "@user.id";

/** The value of a new record if the body does not name the field. */
const defaultValue: Attribute = {
  name: "default",
  isFor: 'every type but file, and of relations for those to "users"',
  means: ({ type, collection }) => type !== "file" && (type !== "relation" || collection === "users"),
  excludes: () => ["owner"],
  problems(field, pattern) {
    const { type, default: value } = field;
    if (type === "relation" && field.multiple === true) return callerProblems(field);
    if (type === "relation") return value === caller ? [] : [`must be "${caller}" on a relation`];
    if (value === caller) return [`is "${caller}", which is for a relation to "users"`];
    if (value === now && type !== "datetime") return [`is "${now}", which is for datetime`];
    if (field.unique === true) return ["would be the same in every record, and the field is unique"];
    if (value === now) return [];
    const checked = checkOf(field, pattern)(value);
    return "stored" in checked ? [] : [`breaks a rule of its own field: it ${checked.message}`];
  },
};

/** The default of a multiple relation has one item, the caller. */
function callerProblems({ default: value, min = 0 }: FieldDefinition): string[] {
  if (!Array.isArray(value) || value.length !== 1 || value[0] !== caller)
    return [`must be ["${caller}"] on a multiple relation`];
  return min > 1 ? [`has one item, and "min" is ${min}`] : [];
}

/** The moment and the caller of a create. */
export interface Creation {
  readonly now: string;
  readonly userId: string | null;
}

/** The stored default of a field; the empty value without a default, and for an anonymous caller. */
export function storedDefault(field: FieldDefinition, creation: Creation): Value {
  const { default: value = null } = field;
  if (value === null) return emptyOf(field);
  const { userId } = creation;
  if (field.type === "relation" && userId === null) return emptyOf(field);
  if (field.type === "relation") return field.multiple === true ? JSON.stringify([userId]) : userId;
  if (value === now && field.type === "datetime") return creation.now;
  return typeOf(field).encode(value) ?? null;
}

/** The value that existing records get when a required field is added; undefined if the default is the caller. */
export function fillOf({ type, required, default: value }: FieldDefinition): JsonValue | undefined {
  return required === true && type !== "relation" ? value : undefined;
}

/** The effect on a record when the target, a record or a user, is deleted. */
const onDelete: Attribute = {
  name: "onDelete",
  isFor: "relation",
  means: ({ type }) => type === "relation",
  problems({ onDelete: action, required, multiple: isMultiple, min = 0 }) {
    if (!ON_DELETE.some((each) => each === action)) return [`must be ${oneOf(ON_DELETE)}, not ${quote(action)}`];
    if (action === "clear" && required === true) return ['is "clear", which a required field cannot be'];
    if (action === "clear" && isMultiple === true && min > 1)
      return [`is "clear", which could leave fewer than ${min} items`];
    return [];
  },
};

/** The writer of the relation need not be able to read the record that the relation points to. */
const anyTarget: Attribute = {
  name: "anyTarget",
  isFor: "a relation to a collection",
  means: ({ type, collection }) => type === "relation" && collection !== "users",
  // A stranger's record would keep the target from deletion, or go with the target.
  excludes: ({ anyTarget: isOn }) => (isOn === true ? ["onDelete"] : []),
  problems: () => [],
};

const maxScope = 4;
/** The types of the fields that may divide a count: short values with a single form. */
const scopeTypes: readonly FieldTypeName[] = ["string", "integer", "boolean", "datetime", "relation", "file"];

/** The service numbers the records, with one count for all records or a count for each value of some fields. */
const sequence: Attribute = {
  name: "sequence",
  isFor: "integer",
  means: ({ type }) => type === "integer",
  // A number is never empty and never given twice.
  excludes: () => ["required", "unique", "min", "max", "default"],
  problems({ name, sequence: by }) {
    if (!Array.isArray(by)) return [];
    if (by.length === 0 || by.length > maxScope)
      return [`names 1 to ${maxScope} fields, not ${by.length}; or it is true`];
    if (by.includes(name)) return ["names its own field"];
    const twin = by.find((each, i) => by.indexOf(each) < i);
    return twin === undefined ? [] : [`names ${quote(twin)} twice`];
  },
};

/** The fields that divide the count of a sequence; empty for one count. */
export function scopeOf({ sequence: by }: FieldDefinition): readonly string[] {
  return Array.isArray(by) ? by : [];
}

/** The problems of the scopes of all sequences, as sentences. */
export function scopeProblems(fields: readonly FieldDefinition[]): string[] {
  const byName = new Map(fields.map((field) => [field.name, field]));
  return fields.flatMap((field) =>
    scopeOf(field).flatMap((name) => {
      const where = `field "${field.name}": "sequence" names ${quote(name)}`;
      const scope = byName.get(name);
      if (scope === undefined) return [`${where}, and there is no such field`];
      if (scope.multiple === true) return [`${where}, which is multiple`];
      if (scope.sequence !== undefined) return [`${where}, which is a sequence, too`];
      if (!scopeTypes.includes(scope.type)) return [`${where}, which is ${scope.type}; allowed: ${oneOf(scopeTypes)}`];
      return [];
    }),
  );
}

const attributes: readonly Attribute[] = [multiple, values, defaultValue, onDelete, anyTarget, sequence];

/** The problems of the attributes of a field, as sentences. An attribute that would have no effect is refused. */
export function attributeProblems(field: FieldDefinition, pattern: Pattern | undefined): string[] {
  const where = `field "${field.name}"`;
  return attributes.flatMap((attribute) => {
    const { name, isFor } = attribute;
    if (field[name] === undefined) return [];
    if (!attribute.means(field)) return [`${where}: "${name}" means nothing on type ${field.type}; it is for ${isFor}`];
    const beside = attribute.excludes?.(field).filter((other) => field[other] !== undefined) ?? [];
    return [
      ...beside.map((other) => `${where}: "${other}" means nothing beside "${name}"`),
      ...attribute.problems(field, pattern).map((problem) => `${where}: "${name}" ${problem}`),
    ];
  });
}
