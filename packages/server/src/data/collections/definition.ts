/** Collection definition: parses and validates JSON, and names every problem. */
import {
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  type AttributeForm,
  type ChangedField,
  type CollectionDefinition,
  DEFINITION_ATTRIBUTES,
  DEFINITION_LIMITS,
  FIELD_OPERATIONS,
  FIELD_TYPES,
  type FieldDefinition,
  type HistoryDefinition,
  hasForm,
  type IndexDefinition,
  isIndexable,
  isReservedCollectionName,
  isRuleWord,
  isSearchable,
  isSystemFieldName,
  NAME_PATTERN,
  ON_DELETE,
  OPERATIONS,
  PERMISSION_RULES,
  RECORD_TIMES,
  type Rule,
  TEXT_FORMATS,
  USERS,
  VECTOR_METRICS,
} from "@socle/protocol";
import { duration } from "../../base/config/index.ts";
import { AppError, isObject, nearest, oneOf, quote } from "../../base/kernel/index.ts";
import { ExpressionError, syntaxOf } from "../expressions/index.ts";
import { attributeProblems, scopeProblems } from "../fields/index.ts";
import { knownAttributes, type Report, withoutNulls } from "./given-attributes.ts";
import type { ParsedDefinition, ValueRename } from "./plan.ts";
import { completeUsers } from "./user-definition.ts";

const allowedRules = [...PERMISSION_RULES, "an expression"];

/** The most problems that a message lists. */
const maxProblems = 50;

/** The attributes of a field as sent, with the attributes of a change, in the order in which definitions are stored. */
const fieldForms: ReadonlyMap<string, AttributeForm> = new Map([
  ...ATTRIBUTE_NAMES.map((name) => [name, ATTRIBUTES[name].form] as const),
  ["renamedFrom", "formerName"],
  ["convertedFrom", "formerType"],
]);
const fieldAttributes = ["name", "type", ...fieldForms.keys()];

/** The forms of values, as the end of a sentence that begins with the name of the attribute. */
const formsInWords: { readonly [form in AttributeForm]: string } = {
  boolean: "must be true or false",
  number: "must be a number",
  string: "must be a string",
  collection: "must be the name of a collection",
  unique: 'must be true, false or "nocase"',
  format: `must be ${oneOf(TEXT_FORMATS)}`,
  metric: `must be ${oneOf(VECTOR_METRICS)}`,
  onDelete: `must be ${oneOf(ON_DELETE)}`,
  values: 'must be an array of texts, or of { "name", "renamedFrom" } for a text with another name before',
  scope: "must be true, or an array of names of fields",
  rules: "must be an object",
  any: "may be any value",
  formerName: "must be the name of a field, or null",
  formerType: 'must be "integer", on a float',
};

const form = "a name starts with a letter, goes on with letters, digits or _, and has at most 63 characters";

/** The problem of a name of a collection or a field, or null. */
function nameProblem(kind: "collection" | "field", name: unknown): string | null {
  if (typeof name !== "string") return `a ${kind} needs a "name", a string`;
  if (!NAME_PATTERN.test(name)) return `${quote(name)} is not a ${kind} name: ${form}`;
  const isReserved = kind === "collection" ? isReservedCollectionName(name) : isSystemFieldName(name);
  return isReserved ? `${quote(name)} is a reserved ${kind} name` : null;
}

/** The problems of the type and of the forms of the attributes of a field. */
function formProblems(input: Readonly<Record<string, unknown>>, where: string): string[] {
  const { type } = input;
  const hasType = FIELD_TYPES.some((each) => each === type);
  const problems = hasType ? [] : [formProblem(`${where}: "type"`, type, `must be ${oneOf(FIELD_TYPES)}`)];
  for (const [name, form] of fieldForms) {
    const value = input[name];
    if (value === undefined || hasForm(form, value)) continue;
    const words = form === "values" && !Array.isArray(value) ? "must be an array of texts" : formsInWords[form];
    problems.push(formProblem(`${where}: "${name}"`, value, words));
  }
  return problems;
}

function formProblem(where: string, value: unknown, words: string): string {
  return value === undefined ? `${where} is missing; it ${words}` : `${where} ${words}, not ${quote(value)}`;
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
  const input = knownAttributes(sent, { known: DEFINITION_ATTRIBUTES, where: "collection" }, report);
  const { fields, permissions } = input;
  if (permissions !== undefined) input["permissions"] = withoutNulls(permissions);
  if (!Array.isArray(fields)) return input;
  const givenFields = fields.map((item: unknown, position) => {
    if (!isObject(item)) return item;
    const field = knownAttributes(item, { known: fieldAttributes, where: placeOf(item, position) }, report);
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
  const wrong = formProblems(input, where);
  problems.push(...wrong);
  if (badName !== null || wrong.length > 0) return null;
  const known = fieldAttributes.map((name) => [name, input[name]]).filter(([, value]) => value !== undefined);
  // The forms were checked.
  const sent = Object.fromEntries(known) as ChangedField;
  const { renamedFrom, convertedFrom, permissions: given, values, ...attributes } = sent;
  const field: FieldDefinition = attributes;
  const isConverted = convertedFrom !== undefined;
  if (isConverted && field.type !== "float")
    problems.push(`${where}: "convertedFrom" is for a float that was an integer, not for ${field.type}`);
  const permissions = parseRules(given, { operations: FIELD_OPERATIONS, where: `${where}: permissions` }, problems);
  if (values !== undefined) field.values = values.map((value) => (typeof value === "string" ? value : value.name));
  if (permissions !== undefined) field.permissions = permissions;
  const renamedValues = (values ?? []).flatMap((value) =>
    typeof value === "string" || typeof value.renamedFrom !== "string"
      ? []
      : { from: value.renamedFrom, to: value.name },
  );
  return { field, renamedFrom, isConverted, renamedValues };
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
  if (!Array.isArray(input) || input.length > DEFINITION_LIMITS.fields) return null;
  return new Map(input.filter(isObject).map(({ name, type }) => [name, type]));
}

function indexedProblem(name: unknown, types: FieldTypes): string | null {
  if (typeof name !== "string") return `a field is named by a string, not ${quote(name)}`;
  if (name === "id") return `"id" is indexed already`;
  if (types === null || RECORD_TIMES.some((time) => time === name)) return null;
  const type = types.get(name);
  if (!isIndexable({ type })) return `field ${quote(name)} is ${type}, which cannot be indexed`;
  if (types.has(name)) return null;
  const known = [...types.keys()].filter((each) => typeof each === "string");
  const near = nearest(name, [...known, ...RECORD_TIMES]);
  const hint = near === null ? "allowed: those of the collection, createdAt, updatedAt" : `did you mean "${near}"?`;
  return `there is no field ${quote(name)}; ${hint}`;
}

function listProblems(names: readonly unknown[], types: FieldTypes): string[] {
  if (names.length === 0 || names.length > DEFINITION_LIMITS.indexFields)
    return [`1 to ${DEFINITION_LIMITS.indexFields} fields are allowed, not ${names.length}`];
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
  const { fields: names, unique } = knownAttributes(given, { known: ["fields", "unique"], where }, report);
  if (unique !== undefined && typeof unique !== "boolean")
    problems.push(formProblem(`${where}: "unique"`, unique, formsInWords.boolean));
  if (!Array.isArray(names)) {
    problems.push(formProblem(`${where}: "fields"`, names, "must be an array of names of fields"));
    return [];
  }
  problems.push(...listProblems(names, types).map((problem) => `${where}: ${problem}`));
  const fields = names.filter((name) => typeof name === "string");
  const place = unique === true ? fields.find((name) => types?.get(name) === "geo") : undefined;
  if (place !== undefined) problems.push(`${where}: field ${quote(place)} is geo, which is in no unique index`);
  return Array.isArray(input) ? fields : { fields, ...(typeof unique === "boolean" && { unique }) };
}

/** Reads the indexes of a definition, each in the given form, and adds to the report. */
function parseIndexes(input: unknown, types: FieldTypes, report: Report): IndexDefinition[] {
  const { problems } = report;
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input)) {
    problems.push(`"indexes" must be an array of indexes, not ${quote(input)}`);
    return [];
  }
  if (input.length > DEFINITION_LIMITS.indexes) {
    problems.push(`${input.length} indexes are too many; at most ${DEFINITION_LIMITS.indexes} are allowed`);
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
  if (names.length > DEFINITION_LIMITS.searched)
    problems.push(`"search" names ${names.length} fields; at most ${DEFINITION_LIMITS.searched} are allowed`);
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) < i) problems.push(`"search" names ${quote(name)} twice`);
    const type = types?.get(name);
    if (types !== null && type === undefined) problems.push(`"search" names ${quote(name)}, which is no field`);
    else if (type !== undefined && !isSearchable({ type }))
      problems.push(`"search" names ${quote(name)}, which is of type ${String(type)}; only string and text have words`);
  }
  return names.length === 0 ? undefined : names;
}

function parseHistory(input: unknown, problems: string[]): HistoryDefinition | undefined {
  if (input === undefined || input === null) return undefined;
  const { keep, ...rules }: { keep?: unknown } = isObject(input) ? input : {};
  const read = parseRules(isObject(input) ? rules : input, { operations: ["read"], where: "history" }, problems)?.read;
  if (isObject(input) && !Object.hasOwn(input, "read")) problems.push('history: "read" is required');
  const kept = duration(1_000);
  if (keep !== undefined && (typeof keep !== "string" || kept.parse(keep) === undefined))
    problems.push(`history: "keep" must be ${kept.allowed}, not ${quote(keep)}`);
  return read === undefined ? undefined : { read, ...(typeof keep === "string" && { keep }) };
}

/** The shortest time that a trash keeps a record. */
const minTrashMs = 60_000;

function parseTrash(input: unknown, name: unknown, problems: string[]): string | undefined {
  if (input === undefined || input === null) return undefined;
  const kept = duration(minTrashMs);
  if (name === USERS) problems.push('"trash" is not for "users": a deleted account does not come back');
  else if (typeof input === "string" && kept.parse(input) !== undefined) return input;
  else problems.push(`"trash" must be ${kept.allowed}, not ${quote(input)}`);
  return undefined;
}

/** Attributes that a view cannot have: its records are the rows of a query, and nobody writes a view. */
const strangersOfViews = ["indexes", "search", "history", "trash"];

/** The query of a view; undefined for a collection with records of its own. */
function parseQuery(input: Readonly<Record<string, unknown>>, problems: string[]): string | undefined {
  const { query, permissions, name } = input;
  if (query === undefined || query === null) return undefined;
  if (name === USERS) problems.push(`"${USERS}" cannot be a view`);
  for (const key of strangersOfViews)
    if (Array.isArray(input[key]) ? input[key].length > 0 : (input[key] ?? null) !== null)
      problems.push(`"${key}" means nothing for a view`);
  for (const operation of OPERATIONS)
    if (operation !== "read" && isObject(permissions) && permissions[operation] !== undefined)
      problems.push(`permissions: "${operation}" means nothing for a view, which nobody writes`);
  if (typeof query === "string" && query.length <= DEFINITION_LIMITS.query) return query.trim().replace(/\s*;$/, "");
  const words = typeof query === "string" ? `${query.length} characters` : quote(query);
  problems.push(`"query" must be a SELECT of at most ${DEFINITION_LIMITS.query} characters, not ${words}`);
  return "";
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
  // The service derives the fields of a view: the fields of an answer may come back.
  const own = (sent["query"] ?? null) === null ? sent : { ...sent, fields: [] };
  const input = completeUsers(knownParts(own, report), problems);
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
  } else if (given.length > DEFINITION_LIMITS.fields) {
    problems.push(`${given.length} fields are too many; at most ${DEFINITION_LIMITS.fields} are allowed`);
  } else {
    for (const [position, item] of given.entries()) {
      const parsed = parseField(item, position, problems);
      if (parsed === null) continue;
      const { field } = parsed;
      fields.push(field);
      if (parsed.renamedFrom !== undefined) renamedFrom.set(field.name, parsed.renamedFrom);
      if (parsed.isConverted) converted.add(field.name);
      if (parsed.renamedValues.length > 0) renamedValues.set(field.name, parsed.renamedValues);
      problems.push(...attributeProblems(field, warnings));
    }
    problems.push(...collectionProblems(fields));
  }
  const permissions = parseRules(input["permissions"], { operations: OPERATIONS, where: "permissions" }, problems);
  const types = fieldTypes(given);
  const indexes = parseIndexes(input["indexes"], types, report);
  const search = parseSearch(input["search"], types, problems);
  const history = parseHistory(input["history"], problems);
  const trash = parseTrash(input["trash"], input["name"], problems);
  const query = parseQuery(input, problems);
  if (query !== undefined && permissions?.read === undefined)
    warnings.push(
      'permissions: a view without "read" shows its rows to everybody, whatever the rules of the collections that the query reads; write "read": "public" if all may read',
    );
  const { renamedFrom: collectionFrom = null } = input;
  if (collectionFrom !== null && typeof collectionFrom !== "string")
    problems.push(`"renamedFrom" must be the former name of the collection, not ${quote(collectionFrom)}`);
  const definition: CollectionDefinition = {
    name: String(input["name"]),
    ...(query !== undefined && { query }),
    fields,
  };
  if (permissions !== undefined) definition.permissions = permissions;
  if (indexes.length > 0) definition.indexes = indexes;
  if (search !== undefined) definition.search = search;
  if (history !== undefined) definition.history = history;
  if (trash !== undefined) definition.trash = trash;
  for (const list of [problems, warnings])
    if (list.length > maxProblems) list.splice(maxProblems, Infinity, `and ${list.length - maxProblems} more`);
  if (problems.length > 0) throw new AppError("bad_request", problems.join("; "));
  const parsed = { definition, renamedFrom, converted, renamedValues, ...(warnings.length > 0 && { warnings }) };
  return typeof collectionFrom === "string" ? { ...parsed, collectionFrom } : parsed;
}
