/**
 * The plans of a schema change: each definition beside the former definition, rules that follow renames, and the
 * contradictions between definitions.
 */
import type { CollectionDefinition, ErrorDetail, Rule } from "@socle/protocol";
import { AppError, nearest, quote } from "../../base/kernel/index.ts";
import { type FieldReference, referencesOf } from "../expressions/index.ts";
import { isWord } from "../permissions/index.ts";
import { expressionSchema, type SchemaSource, searchTableName, type UserTable } from "./collection.ts";
import { type CollectionPlan, type ParsedDefinition, type PlanStep, planMigration, successorOf } from "./plan.ts";
import { givenRuleAt, givenRules, parseRule, RuleError, ruleSource, withRule } from "./rules.ts";

/** The new names of fields, by collection and old name. */
type FieldRenames = ReadonlyMap<string, ReadonlyMap<string, string>>;

export type Definitions = ReadonlyMap<string, CollectionDefinition>;

export interface SchemaChange {
  readonly define: readonly ParsedDefinition[];
  /** The names of the collections to delete, with the records. */
  readonly drop: readonly string[];
}

/** A migration that was refused, because of a definition. */
export class MigrationError extends AppError {
  readonly collection: string;

  constructor(collection: string, message: string, details?: ErrorDetail[]) {
    super("bad_request", message, details === undefined ? {} : { details });
    this.collection = collection;
  }
}

/** Adds the collection to a refusal of the definition; other errors pass unchanged. */
export function rethrow(collection: string, thrown: unknown): never {
  const isRefusal = thrown instanceof AppError && thrown.code === "bad_request";
  throw isRefusal ? new MigrationError(collection, thrown.message, thrown.details) : thrown;
}

/**
 * Checks the rules of a definition. An error in a definition that the change does not contain names the collection: the
 * change broke the rule.
 */
function checkRules(definition: CollectionDefinition, source: SchemaSource, isAsked: boolean): void {
  try {
    for (const { site, rule } of givenRules(definition)) if (!isWord(rule)) parseRule(definition, site, source);
  } catch (thrown) {
    if (!(thrown instanceof RuleError)) throw thrown;
    const { name } = definition;
    throw new MigrationError(name, isAsked ? thrown.message : `collection "${name}": ${thrown.message}`);
  }
}

/**
 * The plans of a change, before any record is read.
 * @throws AppError `bad_request` when definitions contradict; `not_found` for an unknown collection to delete.
 */
export function planChange({ define, drop }: SchemaChange, current: Definitions, users: UserTable): CollectionPlan[] {
  const plans = planDefinitions({ define, drop }, current);
  const future = new Map(current);
  for (const name of drop) future.delete(name);
  const following = followRenames(
    plans,
    future,
    ruleSource(users, (name) => current.get(name)),
  );
  for (const { after } of [...plans, ...following]) future.set(after.name, after);
  const source = ruleSource(users, (name) => future.get(name));
  const asked = new Set(define.map(({ definition }) => definition.name));
  for (const definition of future.values()) checkRules(definition, source, asked.has(definition.name));
  return [...plans, ...following];
}

/**
 * Puts the new names of renamed fields into every rule that names the fields, also into rules of other collections.
 * @param kept the present definitions of the collections that stay.
 * @param source the present definitions of all collections: a former rule may enter a collection that goes.
 */
function followRenames(plans: CollectionPlan[], kept: Definitions, source: SchemaSource): CollectionPlan[] {
  const renames = renamesOf(plans);
  if (renames.size === 0) return [];
  const following: CollectionPlan[] = [];
  for (const definition of kept.values()) {
    const at = plans.findIndex(({ after }) => after.name === definition.name);
    const plan = plans[at] ?? { before: definition, after: definition, steps: [] };
    const next = withRenamed(plan, definition, (rule) => {
      return renameIn(rule, referencesOf(rule, expressionSchema(definition, source)), renames);
    });
    if (next === plan) continue;
    if (at === -1) following.push(next);
    else plans[at] = next;
  }
  return following;
}

function planDefinitions({ define, drop }: SchemaChange, current: Definitions): CollectionPlan[] {
  const future = new Map(current);
  for (const name of drop)
    if (!future.delete(name)) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
  const plans: CollectionPlan[] = [];
  for (const item of define) {
    const { definition } = item;
    if (!future.has(definition.name)) refuseTwin(definition.name, future.keys());
    future.set(definition.name, definition);
    const before = current.get(definition.name) ?? null;
    try {
      plans.push(planMigration(before, item));
    } catch (thrown) {
      rethrow(definition.name, thrown);
    }
  }
  for (const definition of future.values()) refuseDanglingRelations(definition, future, drop);
  refuseSearchNamesakes([...future.values()].filter(({ search }) => search !== undefined).map(({ name }) => name));
  return plans;
}

function renamesOf(plans: readonly CollectionPlan[]): FieldRenames {
  const renames = new Map<string, Map<string, string>>();
  for (const { after, steps } of plans)
    for (const step of steps)
      if (step.step === "rename") renames.getOrInsertComputed(after.name, () => new Map()).set(step.from, step.field);
  return renames;
}

/** Renames fields in the unchanged rules of the new definition; a changed rule has the new names already. */
function withRenamed(plan: CollectionPlan, before: CollectionDefinition, rename: (rule: Rule) => Rule): CollectionPlan {
  let { after, steps } = plan;
  for (const { site, rule: from } of givenRules(before)) {
    const to = isWord(from) ? from : rename(from);
    const newSite = site.field === null ? site : { ...site, field: successorOf(plan, site.field) };
    const { field } = newSite;
    if (to === from || givenRuleAt(after, newSite) !== from) continue;
    after = withRule(after, newSite, to);
    const step: PlanStep = field === null ? { step: "permissions" } : { step: "permissions", field };
    if (!steps.some((each) => each.step === "permissions" && (each.field ?? null) === field)) steps = [...steps, step];
  }
  return after === plan.after ? plan : { ...plan, after, steps };
}

function renameIn(text: string, references: readonly FieldReference[], renames: FieldRenames): string {
  let renamed = text;
  // From the end, so that earlier offsets stay valid.
  for (const { collection, field, offset } of [...references].sort((a, b) => b.offset - a.offset)) {
    const name = renames.get(collection)?.get(field);
    if (name !== undefined) renamed = renamed.slice(0, offset) + name + renamed.slice(offset + field.length);
  }
  return renamed;
}

function refuseTwin(name: string, names: Iterable<string>): void {
  for (const other of names)
    if (other.toLowerCase() === name.toLowerCase())
      throw new MigrationError(name, `collections "${other}" and "${name}" differ only in case`);
}

function refuseSearchNamesakes(searched: readonly string[]): void {
  // FTS5 keeps a search table in separate tables, with these words at the end of the names.
  const shadows = ["data", "idx", "content", "docsize", "config"];
  const nameOf = (collection: string): string => searchTableName(collection).toLowerCase();
  for (const name of searched) {
    const other = searched.find((each) => shadows.some((end) => `${nameOf(each)}_${end}` === nameOf(name)));
    if (other === undefined) continue;
    throw new MigrationError(
      name,
      `collections "${other}" and "${name}" cannot both be searched: the words of "${other}" are kept in a table of the name that "${name}" needs`,
    );
  }
}

function refuseDanglingRelations(
  definition: CollectionDefinition,
  future: ReadonlyMap<string, CollectionDefinition>,
  dropped: readonly string[],
): void {
  for (const { name, collection: target } of definition.fields) {
    if (target === undefined || target === "users" || future.has(target)) continue;
    if (dropped.includes(target)) {
      const pointing = [...future.values()].flatMap((other) =>
        other.fields.filter((field) => field.collection === target).map((field) => `${other.name}.${field.name}`),
      );
      const verb = pointing.length === 1 ? "points" : "point";
      throw new MigrationError(
        target,
        `collection "${target}" cannot be deleted: ${pointing.join(", ")} ${verb} to it`,
      );
    }
    const near = nearest(target, [...future.keys(), "users"]);
    throw new MigrationError(
      definition.name,
      `field "${name}": there is no collection ${quote(target)} to point to${near === null ? "" : `; did you mean "${near}"?`}`,
    );
  }
}
