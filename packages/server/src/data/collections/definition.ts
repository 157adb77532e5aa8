/** Collection definition: parses and validates JSON, and names every problem. */
import {
  type CollectionDefinition,
  FIELD_OPERATIONS,
  FIELD_TYPES,
  type FieldDefinition,
  type IndexDefinition,
  isReservedCollectionName,
  isRuleWord,
  NAME_PATTERN,
  OPERATIONS,
  PERMISSION_RULES,
  type Rule,
  type ValueChange,
} from "@socle/protocol";
import * as z from "zod/mini";
import { AppError, allOf, isObject, messageOf, nearest, oneOf, quote } from "../../base/kernel/index.ts";
import { ExpressionError, syntaxOf } from "../expressions/index.ts";
import { attributeProblems, type Pattern, scopeProblems, typeNamed, typeOf, typesWith } from "../fields/index.ts";
import { recordTimes } from "./collection.ts";
import { knownAttributes, type Report, withoutNulls } from "./given-attributes.ts";
import { compilePattern } from "./pattern.ts";
import type { ParsedDefinition, ValueRename } from "./plan.ts";
import { completeUsers } from "./user-definition.ts";

/** SQLite allows 2,000 columns; a form of more fields is not readable. */
const maxFields = 500;

/** Each field that is searched makes changes dearer. */
const maxSearched = 10;
/** The most indexes: every write of a record writes all indexes. */
const maxIndexes = 20;
const maxIndexFields = 8;

const allowedRules = [...PERMISSION_RULES, "an expression"];

/** The most problems that a message lists. */
const maxProblems = 50;

const textsOrRenames = 'must be an array of texts, or of { "name", "renamedFrom" } for a text with another name before';

function isValue(value: unknown): value is string | ValueChange {
  if (!isObject(value)) return typeof value === "string";
  const { name, renamedFrom = null, ...others } = value;
  const isRename = renamedFrom === null || typeof renamedFrom === "string";
  return typeof name === "string" && isRename && Object.keys(others).length === 0;
}

const fieldSchema = z.object({
  name: z.string("must be a string"),
  type: z.enum(FIELD_TYPES, `must be ${oneOf(FIELD_TYPES)}`),
  required: z.optional(z.boolean("must be true or false")),
  min: z.optional(z.number("must be a number")),
  max: z.optional(z.number("must be a number")),
  regex: z.optional(z.string("must be a string")),
  unique: z.optional(z.boolean("must be true or false")),
  collection: z.optional(z.string("must be the name of a collection")),
  owner: z.optional(z.boolean("must be true or false")),
  onDelete: z.optional(z.string("must be restrict, cascade or clear")),
  anyTarget: z.optional(z.boolean("must be true or false")),
  sequence: z.optional(z.union([z.literal(true), z.array(z.string())], "must be true, or an array of names of fields")),
  default: z.optional(z.unknown()),
  multiple: z.optional(z.boolean("must be true or false")),
  values: z.optional(z.array(z.custom<string | ValueChange>(isValue, textsOrRenames), "must be an array of texts")),
  permissions: z.optional(z.nullable(z.looseObject({}, "must be an object"))),
  renamedFrom: z.optional(z.nullable(z.string("must be the name of a field, or null"))),
  convertedFrom: z.optional(z.literal("integer", 'must be "integer", on a float')),
});
const definitionAttributes = ["name", "fields", "permissions", "indexes", "search", "renamedFrom", "$schema"];

const indexSchema = z.object({
  fields: z.array(z.unknown(), "must be an array of names of fields"),
  unique: z.optional(z.boolean("must be true or false")),
});

const form = "a name starts with a letter, goes on with letters, digits or _, and has at most 63 characters";

/** The problem of a name of a collection or a field, or null. */
function nameProblem(kind: "collection" | "field", name: unknown): string | null {
  if (typeof name !== "string") return `a ${kind} needs a "name", a string`;
  if (!NAME_PATTERN.test(name)) return `${quote(name)} is not a ${kind} name: ${form}`;
  const isReserved =
    kind === "collection"
      ? isReservedCollectionName(name)
      : ["id", "createdat", "updatedat"].includes(name.toLowerCase());
  return isReserved ? `${quote(name)} is a reserved ${kind} name` : null;
}

/** The problems that zod finds in an object, each problem with the attribute and the value. */
function shapeProblems(error: z.core.$ZodError, value: object, where: string): string[] {
  return error.issues.map((issue) => {
    const [attribute = ""] = issue.path.map(String);
    const given = Object.hasOwn(value, attribute) ? Reflect.get(value, attribute) : undefined;
    if (given === undefined) return `${where}: "${attribute}" is missing; it ${issue.message}`;
    return `${where}: "${attribute}" ${issue.message}, not ${quote(given)}`;
  });
}

/** A field as sent: with the old names, which are not stored. */
interface ParsedField {
  readonly field: FieldDefinition;
  readonly renamedFrom: string | null | undefined;
  readonly isConverted: boolean;
  readonly renamedValues: readonly ValueRename[];
}

/** The known attributes of the fields and of the collection. The service may add to the answer: no object of the sender is in the answer. */
function knownParts(sent: Record<string, unknown>, report: Report): Record<string, unknown> {
  const input = knownAttributes(sent, { known: definitionAttributes, where: "collection" }, report);
  const { fields, permissions } = input;
  if (permissions !== undefined) input["permissions"] = withoutNulls(permissions);
  if (!Array.isArray(fields)) return input;
  const known = Object.keys(fieldSchema.shape);
  const givenFields = fields.map((item: unknown, position) => {
    if (!isObject(item)) return item;
    const field = knownAttributes(item, { known, where: placeOf(item, position) }, report);
    // Null says that the field is no rename.
    if (item["renamedFrom"] === null) field["renamedFrom"] = null;
    if (field["permissions"] !== undefined) field["permissions"] = withoutNulls(field["permissions"]);
    return field;
  });
  return { ...input, fields: givenFields };
}

/** The field in messages: by the name, or by the position if the name is no name. */
function placeOf({ name }: Record<string, unknown>, position: number): string {
  return nameProblem("field", name) === null ? `field "${String(name)}"` : `field ${position + 1}`;
}

function parseField(input: unknown, position: number, problems: string[]): ParsedField | null {
  if (!isObject(input)) {
    problems.push(`field ${position + 1} must be an object, not ${quote(input)}`);
    return null;
  }
  const badName = nameProblem("field", input["name"]);
  const where = placeOf(input, position);
  if (badName !== null) problems.push(`${where}: ${badName}`);
  const before = problems.length;
  const result = fieldSchema.safeParse(badName === null ? input : { ...input, name: "unnamed" });
  if (!result.success) problems.push(...shapeProblems(result.error, input, where));
  if (!result.success || badName !== null || problems.length > before) return null;
  const { renamedFrom, convertedFrom, permissions: given, values, ...attributes } = result.data;
  const isConverted = convertedFrom !== undefined;
  if (isConverted && attributes.type !== "float")
    problems.push(`${where}: "convertedFrom" is for a float that was an integer, not for ${attributes.type}`);
  const permissions = parseRules(given, { operations: FIELD_OPERATIONS, where: `${where}: permissions` }, problems);
  // Zod types optional attributes as `T | undefined`; absent attributes are absent at run time.
  const field = attributes as FieldDefinition;
  if (values !== undefined) field.values = values.map((value) => (typeof value === "string" ? value : value.name));
  if (permissions !== undefined) field.permissions = permissions;
  const renamedValues = (values ?? []).flatMap((value) =>
    typeof value === "string" || typeof value.renamedFrom !== "string"
      ? []
      : { from: value.renamedFrom, to: value.name },
  );
  return { field, renamedFrom, isConverted, renamedValues };
}

/**
 * The problems of the rules of a field. `min`, `max` and `regex` on a type without a meaning of the rule are removed from the
 * field, with a warning: the spec gives the rules to every type.
 */
function ruleProblems(field: FieldDefinition, warnings: string[]): string[] {
  const problems: string[] = [];
  const where = `field "${field.name}"`;
  const meaningless = (attribute: string, types: string): string =>
    `${where}: "${attribute}" means nothing on type ${field.type}; it is for ${types}`;
  const refuse = (attribute: string, types: string): void => {
    problems.push(meaningless(attribute, types));
  };
  const ignore = (attribute: "min" | "max" | "regex", types: string): void => {
    warnings.push(`${meaningless(attribute, types)}, and is ignored`);
    delete field[attribute];
  };
  const { rules, reference } = typeOf(field);
  let pattern: Pattern | undefined;
  if (field.min !== undefined && field.max !== undefined && field.min > field.max)
    problems.push(`${where}: "min" (${field.min}) is greater than "max" (${field.max})`);
  for (const bound of ["min", "max"] as const) {
    const value = field[bound];
    if (value === undefined) continue;
    if (rules.bounds === null) ignore(bound, allOf(typesWith((type) => type.rules.bounds !== null)));
    else if (rules.bounds !== "value" && (!Number.isSafeInteger(value) || value < 0)) {
      const meaning = rules.bounds === "length" ? "a length" : "a number of items";
      problems.push(`${where}: "${bound}" is ${meaning} here and must be a whole number from 0, not ${quote(value)}`);
    }
  }
  if (field.regex !== undefined) {
    if (!rules.regex) ignore("regex", allOf(typesWith((type) => type.rules.regex)));
    else {
      try {
        pattern = compilePattern(field.regex);
      } catch (thrown) {
        const reason = messageOf(thrown).replace(/^error parsing regexp: /, "");
        problems.push(
          `${where}: "regex" ${quote(field.regex)} cannot be used: ${reason} (patterns run in linear time: no backreferences, no lookaround)`,
        );
      }
    }
  }
  if (field.unique === true && !rules.unique) refuse("unique", allOf(typesWith((type) => type.rules.unique)));
  if (reference === "record" && field.collection === undefined)
    problems.push(`${where}: a relation needs "collection", the name of the collection it points to`);
  if (reference !== "record" && field.collection !== undefined) refuse("collection", "relation");
  if (field.owner === true && field.collection !== "users") refuse("owner", 'a relation to "users"');
  // A default is looked at by the other rules, so the other rules must be in order.
  return problems.length > 0 ? problems : attributeProblems(field, pattern);
}

/** The reason why a text is no rule, as far as that can be told without other definitions. */
function ruleProblem(rule: Rule): string | null {
  if (isRuleWord(rule)) return null;
  const near = nearest(rule, PERMISSION_RULES);
  if (near !== null) return `is ${quote(rule)}; did you mean "${near}"?`;
  try {
    syntaxOf(rule);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    return `must be ${oneOf(allowedRules)}, not ${quote(rule)}: ${thrown.message}`;
  }
}

/** Reads the rules of a collection or of a field, by operation. `where` names the place. */
function parseRules<O extends string>(
  input: unknown,
  { operations, where }: { operations: readonly O[]; where: string },
  problems: string[],
): { [operation in O]?: Rule } | undefined {
  if (input === undefined || input === null) return undefined;
  if (!isObject(input)) {
    problems.push(`${where === "permissions" ? '"permissions"' : where} must be an object, not ${quote(input)}`);
    return undefined;
  }
  for (const name of Object.keys(input))
    if (!operations.some((operation) => operation === name))
      problems.push(`${where}: unknown operation ${quote(name)}; allowed: ${operations.join(", ")}`);
  const rules: { [operation in O]?: Rule } = {};
  for (const operation of operations) {
    const rule = Object.hasOwn(input, operation) ? input[operation] : undefined;
    if (rule === undefined) continue;
    if (typeof rule !== "string") {
      problems.push(`${where}: "${operation}" must be ${oneOf(allowedRules)}, not ${quote(rule)}`);
      continue;
    }
    const problem = ruleProblem(rule);
    if (problem !== null) problems.push(`${where}: "${operation}" ${problem}`);
    rules[operation] = rule;
  }
  return rules;
}

function collectionProblems(fields: readonly FieldDefinition[]): string[] {
  const problems: string[] = [];
  const seen = new Map<string, string>();
  for (const { name } of fields) {
    const twin = seen.get(name.toLowerCase());
    if (twin === name) problems.push(`field "${name}" is defined twice`);
    else if (twin !== undefined) problems.push(`fields "${twin}" and "${name}" differ only in case`);
    seen.set(name.toLowerCase(), name);
  }
  const owners = fields.filter((field) => field.owner === true).map((field) => `"${field.name}"`);
  if (owners.length > 1) problems.push(`only one field can carry "owner": ${owners.join(", ")} do`);
  return [...problems, ...scopeProblems(fields)];
}

/**
 * The types of the fields by name, also of invalid fields, so that an index of an invalid field is not called
 * unknown; null if the fields are not readable.
 */
type FieldTypes = ReadonlyMap<unknown, unknown> | null;

function fieldTypes(input: unknown): FieldTypes {
  if (!Array.isArray(input) || input.length > maxFields) return null;
  return new Map(input.filter(isObject).map(({ name, type }) => [name, type]));
}

function indexedProblem(name: unknown, types: FieldTypes): string | null {
  if (typeof name !== "string") return `a field is named by a string, not ${quote(name)}`;
  if (name === "id") return `"id" is indexed already`;
  if (types === null || recordTimes.some((time) => time === name)) return null;
  const type = typeNamed(types.get(name));
  if (type?.isIndexable === false) return `field ${quote(name)} is ${type.name}, which cannot be indexed`;
  if (types.has(name)) return null;
  const known = [...types.keys()].filter((each) => typeof each === "string");
  const near = nearest(name, [...known, ...recordTimes]);
  const hint = near === null ? "allowed: those of the collection, createdAt, updatedAt" : `did you mean "${near}"?`;
  return `there is no field ${quote(name)}; ${hint}`;
}

function listProblems(names: readonly unknown[], types: FieldTypes): string[] {
  if (names.length === 0 || names.length > maxIndexFields)
    return [`1 to ${maxIndexFields} fields are allowed, not ${names.length}`];
  return names.flatMap((name, i) => {
    const problem = names.indexOf(name) < i ? `field ${quote(name)} is named twice` : indexedProblem(name, types);
    return problem ?? [];
  });
}

function parseIndex(input: unknown, types: FieldTypes, report: Report & { where: string }): IndexDefinition {
  const { where, problems } = report;
  if (!Array.isArray(input) && !isObject(input)) {
    problems.push(`${where} must be an array of names of fields, or an object with "fields", not ${quote(input)}`);
    return [];
  }
  const given = Array.isArray(input) ? { fields: input } : input;
  const object = knownAttributes(given, { known: Object.keys(indexSchema.shape), where }, report);
  const result = indexSchema.safeParse(object);
  if (!result.success) {
    problems.push(...shapeProblems(result.error, object, where));
    return [];
  }
  const { fields: names, unique } = result.data;
  problems.push(...listProblems(names, types).map((problem) => `${where}: ${problem}`));
  const fields = names.filter((name) => typeof name === "string");
  return Array.isArray(input) ? fields : { fields, ...(unique !== undefined && { unique }) };
}

/** Reads the indexes of a definition, each in the given form, and adds to the report. */
function parseIndexes(input: unknown, types: FieldTypes, report: Report): IndexDefinition[] {
  const { problems } = report;
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input)) {
    problems.push(`"indexes" must be an array of indexes, not ${quote(input)}`);
    return [];
  }
  if (input.length > maxIndexes) {
    problems.push(`${input.length} indexes are too many; at most ${maxIndexes} are allowed`);
    return [];
  }
  const places = new Map<string, number>();
  return input.map((item: unknown, i) => {
    const where = `index ${i + 1}`;
    const before = problems.length;
    const index = parseIndex(item, types, { ...report, where });
    if (problems.length > before) return index;
    const key = JSON.stringify(Array.isArray(index) ? index : index.fields);
    const twin = places.get(key);
    if (twin !== undefined) problems.push(`${where} has the same fields as index ${twin}`);
    places.set(key, twin ?? i + 1);
    return index;
  });
}

/** Reads the fields of the search. @returns undefined without searched fields. */
function parseSearch(input: unknown, types: FieldTypes, problems: string[]): string[] | undefined {
  if (input === undefined || input === null) return undefined;
  if (!Array.isArray(input) || input.some((name) => typeof name !== "string")) {
    problems.push(`"search" must be an array of names of fields, not ${quote(input)}`);
    return undefined;
  }
  const names = input.map(String);
  if (names.length > maxSearched)
    problems.push(`"search" names ${names.length} fields; at most ${maxSearched} are allowed`);
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) < i) problems.push(`"search" names ${quote(name)} twice`);
    const type = types?.get(name);
    if (types !== null && type === undefined) problems.push(`"search" names ${quote(name)}, which is no field`);
    else if (type !== undefined && type !== "string" && type !== "text")
      problems.push(`"search" names ${quote(name)}, which is of type ${String(type)}; only string and text have words`);
  }
  return names.length === 0 ? undefined : names;
}

/**
 * Reads a collection definition from JSON (spec, "Collection definition"; contract, "Collections and fields"). Whether
 * relations point to something is for whoever knows the other collections.
 * @throws AppError `bad_request` with a message that lists everything that is wrong.
 */
export function parseDefinition(sent: unknown): ParsedDefinition {
  if (!isObject(sent))
    throw new AppError("bad_request", `A collection definition is a JSON object, not ${quote(sent)}`);
  const report: Report = { problems: [], warnings: [] };
  const { problems, warnings } = report;
  const input = completeUsers(knownParts(sent, report), problems);
  const badName = nameProblem("collection", input["name"]);
  if (badName !== null) problems.push(badName);
  const fields: FieldDefinition[] = [];
  const renamedFrom = new Map<string, string | null>();
  const converted = new Set<string>();
  const renamedValues = new Map<string, readonly ValueRename[]>();
  const given = input["fields"];
  if (!Array.isArray(given)) {
    const shown = "fields" in input ? `, not ${quote(given)}` : "";
    problems.push(`"fields" must be an array of field definitions${shown}`);
  } else if (given.length > maxFields) {
    problems.push(`${given.length} fields are too many; at most ${maxFields} are allowed`);
  } else {
    for (const [position, item] of given.entries()) {
      const parsed = parseField(item, position, problems);
      if (parsed === null) continue;
      const { field } = parsed;
      fields.push(field);
      if (parsed.renamedFrom !== undefined) renamedFrom.set(field.name, parsed.renamedFrom);
      if (parsed.isConverted) converted.add(field.name);
      if (parsed.renamedValues.length > 0) renamedValues.set(field.name, parsed.renamedValues);
      problems.push(...ruleProblems(field, warnings));
    }
    problems.push(...collectionProblems(fields));
  }
  const permissions = parseRules(input["permissions"], { operations: OPERATIONS, where: "permissions" }, problems);
  const types = fieldTypes(given);
  const indexes = parseIndexes(input["indexes"], types, report);
  const search = parseSearch(input["search"], types, problems);
  const { renamedFrom: collectionFrom = null } = input;
  if (collectionFrom !== null && typeof collectionFrom !== "string")
    problems.push(`"renamedFrom" must be the former name of the collection, not ${quote(collectionFrom)}`);
  const definition: CollectionDefinition = { name: String(input["name"]), fields };
  if (permissions !== undefined) definition.permissions = permissions;
  if (indexes.length > 0) definition.indexes = indexes;
  if (search !== undefined) definition.search = search;
  for (const list of [problems, warnings])
    if (list.length > maxProblems) list.splice(maxProblems, Infinity, `and ${list.length - maxProblems} more`);
  if (problems.length > 0) throw new AppError("bad_request", problems.join("; "));
  const parsed = { definition, renamedFrom, converted, renamedValues, ...(warnings.length > 0 && { warnings }) };
  return typeof collectionFrom === "string" ? { ...parsed, collectionFrom } : parsed;
}
