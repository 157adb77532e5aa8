/**
 * Attributes: the problems of the attributes of a field of a definition, and the effects on stored values. The table of the
 * protocol package says which field may have which attribute; an attribute with problems of its own has a function below.
 */
import {
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  type AttributeName,
  boundsOf,
  DEFINITION_LIMITS,
  excludedBeside,
  type FieldDefinition,
  isUnique,
  type JsonValue,
  MAX_DIMENSIONS,
  mayHave,
  SCOPE_TYPES,
} from "@socle/protocol";
import { allOf, messageOf, oneOf, quote } from "../../base/kernel/index.ts";
import { literal, type Value } from "../../store/database/index.ts";
import { checkOf } from "./check-value.ts";
import { compilePattern } from "./pattern.ts";
import { type DerivedColumn, emptyOf, encodeText, maxItemsOf, typeOf } from "./types.ts";

/** The problems of an attribute that the field may have, as ends of a sentence that begins with the name of the attribute. */
type Problems = { readonly [name in AttributeName]?: (field: FieldDefinition) => string[] };

/** The attributes that the spec gives to every type. Without a meaning, they are ignored with a warning. */
const rules: Problems = {
  min: (field) => boundProblems(field, field.min),
  max: (field) => boundProblems(field, field.max),
  regex({ regex = "" }) {
    try {
      compilePattern(regex);
      return [];
    } catch (thrown) {
      const reason = messageOf(thrown).replace(/^error parsing regexp: /, "");
      return [
        `${quote(regex)} cannot be used: ${reason} (patterns run in linear time: no backreferences, no lookaround)`,
      ];
    }
  },
};

function boundProblems(field: FieldDefinition, bound: number | undefined): string[] {
  const bounds = boundsOf(field);
  if (bounds === "value" || (Number.isSafeInteger(bound) && Number(bound) >= 0)) return [];
  const meaning = bounds === "length" ? "a length" : "a number of items";
  return [`is ${meaning} here and must be a whole number from 0, not ${quote(bound)}`];
}

/** A value stands in one line of a form. */
function isValue(text: string): boolean {
  const isLine =
    text !== "" && text.length <= DEFINITION_LIMITS.valueLength && text.trim() === text && !/\p{Cc}/u.test(text);
  return isLine && encodeText(text) !== undefined;
}

/** The problems of the attributes beside the rules, which are in order. */
const problemsOf: Problems = {
  multiple(field) {
    const { min = 0, max } = field;
    const { items } = DEFINITION_LIMITS;
    if (field.multiple !== true) return [];
    if (max !== undefined && (max < 1 || max > items))
      return [`allows 1 to ${items} items: "max" cannot be ${quote(max)}`];
    if (min > maxItemsOf(field)) return [`allows ${maxItemsOf(field)} items without "max", and "min" is ${min}`];
    return [];
  },
  values({ values: all = [] }) {
    const { values, valueLength } = DEFINITION_LIMITS;
    if (all.length === 0 || all.length > values) return [`lists 1 to ${values} texts, not ${all.length}`];
    const odd = all.find((value) => !isValue(value));
    if (odd !== undefined)
      return [`lists texts of one line, 1 to ${valueLength} characters, without space at an end, not ${quote(odd)}`];
    return twinProblems("lists", all);
  },
  dimensions: ({ dimensions }) =>
    Number.isInteger(dimensions) && Number(dimensions) >= 1 && Number(dimensions) <= MAX_DIMENSIONS
      ? []
      : [`is a whole number from 1 to ${MAX_DIMENSIONS}, not ${quote(dimensions)}`],
  default(field) {
    const { type, default: value, regex } = field;
    if (type === "relation" && field.multiple === true) return callerProblems(field);
    if (type === "relation") return value === caller ? [] : [`must be "${caller}" on a relation`];
    if (value === caller) return [`is "${caller}", which is for a relation to "users"`];
    if (value === now && type !== "datetime") return [`is "${now}", which is for datetime`];
    if (isUnique(field)) return ["would be the same in every record, and the field is unique"];
    if (value === now) return [];
    const checked = checkOf(field, regex === undefined ? undefined : compilePattern(regex))(value);
    return "stored" in checked ? [] : [`breaks a rule of its own field: it ${checked.message}`];
  },
  onDelete({ onDelete: action, required, multiple: isMultiple, min = 0 }) {
    if (action === "clear" && required === true) return ['is "clear", which a required field cannot be'];
    if (action === "clear" && isMultiple === true && min > 1)
      return [`is "clear", which could leave fewer than ${min} items`];
    return [];
  },
  unique({ type, unique }) {
    const isText = type === "string" || type === "text";
    return unique === "nocase" && !isText ? [`is "nocase", which is for string and text, not for ${type}`] : [];
  },
  sequence({ name, sequence: by }) {
    const { scope } = DEFINITION_LIMITS;
    if (!Array.isArray(by)) return [];
    if (by.length === 0 || by.length > scope) return [`names 1 to ${scope} fields, not ${by.length}; or it is true`];
    return by.includes(name) ? ["names its own field"] : twinProblems("names", by);
  },
};

function twinProblems(verb: string, texts: readonly string[]): string[] {
  const twin = texts.find((text, i) => texts.indexOf(text) < i);
  return twin === undefined ? [] : [`${verb} ${quote(twin)} twice`];
}

/**
 * The position of a text among the values, from 0, as SQL without parameters: an index contains the expression. The column holds the
 * text; a generated column beside the text holds the position. A new order is a new generated column: no record is written.
 */
export function positionSql(all: readonly string[], text: string): string {
  const cases = all.map((value, position) => ` WHEN ${literal(value)} THEN ${position}`);
  return `CASE ${text}${cases.join("")} END`;
}

/** The generated columns beside the column of a field: of the position among the `values`, or of the parts of the value. */
export function derivedOf(field: FieldDefinition): readonly DerivedColumn[] {
  const { values, multiple } = field;
  if (multiple === true) return [];
  if (values === undefined) return typeOf(field).derived ?? [];
  return [{ kind: "order", type: "INTEGER", sql: (text) => positionSql(values, text) }];
}

/** The folding of a text, as SQL: see `foldCase`. A connection that only reads needs no such function for the records. */
export function foldedSql(text: string): string {
  return `_fold(${text})`;
}

/** The defaults that are another value for each record. */
const now = "@now";
const caller = "@user.id";

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
      if (!SCOPE_TYPES.includes(scope.type))
        return [`${where}, which is ${scope.type}; allowed: ${oneOf(SCOPE_TYPES)}`];
      return [];
    }),
  );
}

/** The fields that may have an attribute, as the end of "it is for …". */
function meantFor(name: AttributeName): string {
  const { types = [], target } = ATTRIBUTES[name];
  if (name === "default") return 'every type but file, and of relations for those to "users"';
  if (target !== undefined) return target === "users" ? 'a relation to "users"' : "a relation to a collection";
  return name === "multiple" ? oneOf(types) : allOf(types);
}

/**
 * The problems of the attributes of a field, as sentences. An attribute without an effect is refused; a rule without a meaning
 * for the type is removed from the field, with a warning.
 */
export function attributeProblems(field: FieldDefinition, warnings: string[]): string[] {
  const { min = -Infinity, max = Infinity } = field;
  const where = `field "${field.name}"`;
  const problems = min > max ? [`${where}: "min" (${min}) is greater than "max" (${max})`] : [];
  for (const name of ATTRIBUTE_NAMES) {
    const isSet = field[name] !== undefined && (field[name] !== false || name === "default" || name === "anyTarget");
    if (!isSet || mayHave(field, name)) continue;
    const problem = `${where}: "${name}" means nothing on type ${field.type}; it is for ${meantFor(name)}`;
    if (rules[name] === undefined) problems.push(problem);
    else {
      warnings.push(`${problem}, and is ignored`);
      delete field[name];
    }
  }
  const find = (checks: Problems): void => {
    for (const name of ATTRIBUTE_NAMES)
      if (field[name] !== undefined)
        for (const problem of checks[name]?.(field) ?? []) problems.push(`${where}: "${name}" ${problem}`);
  };
  find(rules);
  if (field.type === "relation" && field.collection === undefined)
    problems.push(`${where}: a relation needs "collection", the name of the collection it points to`);
  if (field.type === "vector" && field.dimensions === undefined)
    problems.push(`${where}: a vector needs "dimensions", the count of its numbers, from 1 to ${MAX_DIMENSIONS}`);
  // A default is looked at by the other rules, so the other rules must be in order.
  if (problems.length > 0) return problems;
  for (const name of ATTRIBUTE_NAMES)
    for (const other of excludedBeside(field, name))
      if (field[other] !== undefined) problems.push(`${where}: "${other}" means nothing beside "${name}"`);
  find(problemsOf);
  return problems;
}
