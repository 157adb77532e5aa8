/**
 * The definition of `users`: the account fields come first, and accounts, not records, are created and deleted. The first
 * definition of `users` takes over the users of the database.
 */
import { ACCOUNT_FIELDS, type CollectionDefinition, type FieldDefinition, USERS } from "@socle/protocol";
import { isObject, quote } from "../../base/kernel/index.ts";
import { type CollectionPlan, type ParsedDefinition, planMigration, type RecordSource } from "./plan.ts";

/** By default, users read and change their own fields. */
const defaultRule = "owner";

/** The operations that a rule of `users` may be for. */
const operations: readonly string[] = ["read", "update"];

/** The names that a registration uses for something else. */
const taken: readonly string[] = ["password"];

/**
 * The input of a definition of `users`, with the account fields and the default rules, and the problems that only this
 * definition has. The input of any other definition is answered as it is.
 */
export function completeUsers(
  input: Readonly<Record<string, unknown>>,
  problems: string[],
): Readonly<Record<string, unknown>> {
  if (input["name"] !== USERS) return input;
  const { fields, permissions, renamedFrom = null } = input;
  if (renamedFrom !== null) problems.push(`no collection can be renamed to "${USERS}"`);
  return {
    ...input,
    permissions:
      permissions === undefined || isObject(permissions) ? completeRules(permissions, problems) : permissions,
    fields: Array.isArray(fields) ? completeFields(fields, problems) : fields,
  };
}

function completeRules(given: Record<string, unknown> = {}, problems: string[]): Record<string, unknown> {
  for (const operation of ["create", "delete"])
    if (given[operation] !== undefined)
      problems.push(`permissions: "${operation}" means nothing for "${USERS}"; allowed: ${operations.join(", ")}`);
  return { read: defaultRule, update: defaultRule, ...given };
}

function completeFields(given: readonly unknown[], problems: string[]): unknown[] {
  const others = [...given];
  const account = ACCOUNT_FIELDS.map((field) => {
    const at = others.findIndex((each) => isObject(each) && each["name"] === field.name);
    const [entry] = at === -1 ? [{}] : others.splice(at, 1);
    return { ...field, permissions: accountRules(field, isObject(entry) ? entry : {}, problems) };
  });
  for (const field of others) if (isObject(field)) problems.push(...problemsOf(field));
  return [...account, ...others];
}

/** The rules of an account field: the entry of the definition may say who reads the field, and nothing else. */
function accountRules(
  field: FieldDefinition,
  { name: _, permissions, ...others }: Record<string, unknown>,
  problems: string[],
): unknown {
  const where = `field "${field.name}"`;
  for (const [attribute, value] of Object.entries(others))
    if (JSON.stringify(value) !== JSON.stringify(Reflect.get(field, attribute)))
      problems.push(`${where}: "${attribute}" cannot be ${quote(value)}: the field follows the account of the user`);
  if (!isObject(permissions ?? {})) return permissions;
  const rules = { read: defaultRule, ...Object(permissions) };
  if (rules.update !== undefined)
    problems.push(`${where}: permissions: "update" means nothing: the field follows the account of the user`);
  return rules;
}

function problemsOf({ name, owner, onDelete, renamedFrom }: Record<string, unknown>): string[] {
  const problems: string[] = [];
  const where = `field ${quote(name)}`;
  if (taken.includes(String(name).toLowerCase()))
    problems.push(`${where}: the name is taken: a registration has a ${quote(name)}`);
  if (owner === true) problems.push(`${where}: "owner" means nothing here: a user is the owner of the record`);
  if (onDelete === "cascade")
    problems.push(`${where}: "onDelete" cannot be "cascade": users are deleted as accounts; allowed: restrict, clear`);
  if (ACCOUNT_FIELDS.some((field) => field.name === renamedFrom))
    problems.push(`${where}: "renamedFrom": ${quote(renamedFrom)} follows the account of the user, and stays`);
  return problems;
}

/**
 * The plan of the first definition of `users`: the users of the database get the fields as the records of a collection do.
 * @throws as `planMigration`.
 */
export function planUsers({ definition }: ParsedDefinition, source: RecordSource): CollectionPlan {
  return planTakeOver(definition, definition.fields.slice(0, ACCOUNT_FIELDS.length), source);
}

/**
 * The plan of a dropped collection that comes back with the records. The owner is no column of a field, and sequences
 * count on from the greatest number. @throws as `planMigration`.
 */
export function planReturn(definition: CollectionDefinition, source: RecordSource): CollectionPlan {
  const plain = definition.fields.filter(({ owner }) => owner !== true).map(({ sequence: _, ...field }) => field);
  return planTakeOver(definition, plain, source);
}

/** @param fields the fields that the records of the source have. */
function planTakeOver(after: CollectionDefinition, fields: FieldDefinition[], source: RecordSource): CollectionPlan {
  const definition: CollectionDefinition = { name: after.name, fields };
  if (after.permissions !== undefined) definition.permissions = after.permissions;
  // The database is new to the definition, so nothing is renamed.
  const { steps } = planMigration(definition, { definition: after, renamedFrom: new Map() });
  return { before: null, base: { definition, ...source }, after, steps: [{ step: "create" }, ...steps] };
}
