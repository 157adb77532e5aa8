/** Collection definition: parses and validates JSON, and names every problem. */
import {
  type CollectionDefinition,
  FIELD_OPERATIONS,
  FIELD_TYPES,
  type FieldDefinition,
  OPERATIONS,
  PERMISSION_RULES,
  type Rule,
} from "@socle/protocol";
import * as z from "zod/mini";
import { AppError, allOf, isObject, messageOf, nearest, oneOf, quote } from "../../base/kernel/index.ts";
import { ExpressionError, syntaxOf } from "../expressions/index.ts";
import { attributeProblems, type Pattern, scopeProblems, typeOf, typesWith } from "../fields/index.ts";
import { isWord } from "../permissions/index.ts";
import { nameProblem } from "./names.ts";
import { type FieldTypes, parseIndexes } from "./parse-indexes.ts";
import { parseSearch } from "./parse-search.ts";
import { compilePattern } from "./pattern.ts";
import type { ParsedDefinition } from "./renames.ts";
import { shapeProblems, unknownAttributes } from "./shapes.ts";

/** SQLite allows 2,000 columns; a form of more fields is not readable. */
const maxFields = 500;

const allowedRules = [...PERMISSION_RULES, "an expression"];

/** The most problems that a message lists. */
const maxProblems = 50;

const fieldShape = {
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
  values: z.optional(z.array(z.string("must be an array of texts"), "must be an array of texts")),
  permissions: z.optional(z.nullable(z.looseObject({}, "must be an object"))),
  renamedFrom: z.optional(z.nullable(z.string("must be the name of a field, or null"))),
};
const definitionShape = {
  name: z.string(),
  fields: z.array(z.unknown()),
  permissions: z.unknown(),
  indexes: z.unknown(),
  search: z.unknown(),
  $schema: z.unknown(),
};

const fieldSchema = z.object(fieldShape);

function parseField(
  input: unknown,
  position: number,
  problems: string[],
): [FieldDefinition, string | null | undefined] | null {
  if (!isObject(input)) {
    problems.push(`field ${position + 1} must be an object, not ${quote(input)}`);
    return null;
  }
  const badName = nameProblem("field", input["name"]);
  const where = badName === null ? `field "${input["name"]}"` : `field ${position + 1}`;
  if (badName !== null) problems.push(`${where}: ${badName}`);
  const before = problems.length;
  problems.push(...unknownAttributes(input, fieldShape, where));
  const result = fieldSchema.safeParse(badName === null ? input : { ...input, name: "unnamed" });
  if (!result.success) problems.push(...shapeProblems(result.error, input, where));
  if (!result.success || badName !== null || problems.length > before) return null;
  const { renamedFrom, permissions: given, ...attributes } = result.data;
  const permissions = parseRules(given, { operations: FIELD_OPERATIONS, where: `${where}: permissions` }, problems);
  // Zod types optional attributes as `T | undefined`; absent attributes are absent at run time.
  const field = attributes as FieldDefinition;
  return [permissions === undefined ? field : { ...field, permissions }, renamedFrom];
}

/** The problems of the rules of a field. A rule that does not apply to the type is refused: its author expects protection. */
async function ruleProblems(field: FieldDefinition): Promise<string[]> {
  const problems: string[] = [];
  const where = `field "${field.name}"`;
  const refuse = (attribute: string, types: string): void => {
    problems.push(`${where}: "${attribute}" means nothing on type ${field.type}; it is for ${types}`);
  };
  const { rules, reference } = typeOf(field);
  let pattern: Pattern | undefined;
  for (const bound of ["min", "max"] as const) {
    const value = field[bound];
    if (value === undefined) continue;
    if (rules.bounds === null) refuse(bound, allOf(typesWith((type) => type.rules.bounds !== null)));
    else if (rules.bounds !== "value" && (!Number.isSafeInteger(value) || value < 0)) {
      const meaning = rules.bounds === "length" ? "a length" : "a number of items";
      problems.push(`${where}: "${bound}" is ${meaning} here and must be a whole number from 0, not ${quote(value)}`);
    }
  }
  if (field.min !== undefined && field.max !== undefined && field.min > field.max)
    problems.push(`${where}: "min" (${field.min}) is greater than "max" (${field.max})`);
  if (field.regex !== undefined) {
    if (!rules.regex) refuse("regex", allOf(typesWith((type) => type.rules.regex)));
    else {
      try {
        pattern = await compilePattern(field.regex);
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
  // A default is looked at by the other rules, so these must be in order.
  return problems.length > 0 ? problems : attributeProblems(field, pattern);
}

/** The reason why a text is no rule, as far as that can be told without other definitions. */
function ruleProblem(rule: Rule): string | null {
  if (isWord(rule)) return null;
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

/** The types of all fields, also of invalid fields, so that an index of an invalid field is not called unknown. */
function fieldTypes(input: unknown): FieldTypes {
  if (!Array.isArray(input) || input.length > maxFields) return null;
  return new Map(input.filter(isObject).map(({ name, type }) => [name, type]));
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
 * Reads a collection definition from JSON (spec, "Collection definition"; contract, "Collections and fields"). Whether
 * relations point to something is for whoever knows the other collections.
 * @throws AppError `bad_request` whose message lists everything that is wrong.
 */
export async function parseDefinition(input: unknown): Promise<ParsedDefinition> {
  if (!isObject(input))
    throw new AppError("bad_request", `A collection definition is a JSON object, not ${quote(input)}`);
  const problems = unknownAttributes(input, definitionShape, "collection");
  const badName = nameProblem("collection", input["name"]);
  if (badName !== null) problems.push(badName);
  const fields: FieldDefinition[] = [];
  const renamedFrom = new Map<string, string | null>();
  if (!Array.isArray(input["fields"])) {
    problems.push(
      `"fields" must be an array of field definitions${"fields" in input ? `, not ${quote(input["fields"])}` : ""}`,
    );
  } else if (input["fields"].length > maxFields) {
    problems.push(`${input["fields"].length} fields are too many; at most ${maxFields} are allowed`);
  } else {
    for (const [position, item] of input["fields"].entries()) {
      const parsed = parseField(item, position, problems);
      if (parsed === null) continue;
      const [field, oldName] = parsed;
      fields.push(field);
      if (oldName !== undefined) renamedFrom.set(field.name, oldName);
      problems.push(...(await ruleProblems(field)));
    }
    problems.push(...collectionProblems(fields));
  }
  const permissions = parseRules(input["permissions"], { operations: OPERATIONS, where: "permissions" }, problems);
  const indexes = parseIndexes(input["indexes"], fieldTypes(input["fields"]), problems);
  const search = parseSearch(input["search"], fieldTypes(input["fields"]), problems);
  const definition: CollectionDefinition = { name: String(input["name"]), fields };
  if (permissions !== undefined) definition.permissions = permissions;
  if (indexes.length > 0) definition.indexes = indexes;
  if (search !== undefined) definition.search = search;
  if (problems.length > maxProblems)
    problems.splice(maxProblems, Infinity, `and ${problems.length - maxProblems} more`);
  if (problems.length > 0) throw new AppError("bad_request", problems.join("; "));
  return { definition, renamedFrom };
}
