/**
 * The plans of a schema change: each definition beside the former definition, and the contradictions between definitions.
 */
import { type CollectionDefinition, type DroppedEntry, isRuleWord, isView, USERS } from "@socle/protocol";
import { AppError, nearest, quote } from "../../base/kernel/index.ts";
import { type SchemaSource, searchTableName, type UserTable } from "./collection.ts";
import {
  type CollectionRenames,
  collectionRenames,
  withCollectionRenames,
  withNewTargets,
} from "./collection-renames.ts";
import { MigrationError, rethrow } from "./migration-error.ts";
import {
  type CollectionPlan,
  type Definitions,
  type ParsedDefinition,
  type PlanStep,
  planMigration,
  type ValueRename,
} from "./plan.ts";
import { followRenames } from "./rule-renames.ts";
import { givenRules, parseRule, RuleError, ruleSource } from "./rules.ts";
import { planReturn, planUsers } from "./user-definition.ts";
import { planViews } from "./view.ts";

export interface SchemaChange {
  readonly define: readonly ParsedDefinition[];
  /** The names of the collections to delete, with the records. */
  readonly drop: readonly string[];
  /** The cause, for dropped values. Default: a definition file. */
  readonly cause?: DroppedEntry["cause"];
}

/** The present name of a renamed collection or value; undefined for any other word. */
type NewNames = (word: string) => string | undefined;

/**
 * Checks the rules of a definition. An error in a definition that the change does not contain names the collection: the
 * change broke the rule.
 */
function checkRules(
  definition: CollectionDefinition,
  source: SchemaSource,
  { isAsked, newNames }: { isAsked: boolean; newNames: NewNames },
): void {
  try {
    for (const { site, rule } of givenRules(definition)) if (!isRuleWord(rule)) parseRule(definition, site, source);
  } catch (thrown) {
    if (!(thrown instanceof RuleError)) throw thrown;
    const { name } = definition;
    const newName = newNames(thrown.word);
    const message = newName === undefined ? thrown.message : `${thrown.message}; ${isNow(newName)}`;
    throw new MigrationError(name, isAsked ? message : `collection "${name}": ${message}`);
  }
}

function isNow(name: string): string {
  return `it is "${name}" from now on`;
}

/** The collections beside a change that are no definitions. */
export interface Surroundings {
  readonly users: UserTable;
  /** The names of the collections that had a name before. */
  readonly successorsOf: (name: string) => readonly string[];
}

/**
 * The plans of a change, before any record is read.
 * @throws AppError `bad_request` when definitions contradict; `not_found` for an unknown collection to delete.
 */
export function planChange(change: SchemaChange, current: Definitions, around: Surroundings): CollectionPlan[] {
  const { define, drop } = change;
  const { users } = around;
  const renames = collectionRenames(define, current);
  const newCollection: NewNames = (name) => {
    const [successor] = around.successorsOf(name);
    return renames.get(successor ?? name) ?? successor;
  };
  const plans = planDefinitions(change, current, { renames, newNames: newCollection, users });
  const future = new Map(current);
  for (const name of drop) future.delete(name);
  plans.push(...relationsThatFollow(plans, future, renames));
  const following = followRenames(
    plans,
    future,
    ruleSource(users, (name) => withoutViews(current.get(name))),
  );
  for (const name of renames.keys()) future.delete(name);
  const all = [...plans, ...following];
  for (const { after } of all) future.set(after.name, after);
  all.push(...planViews(all, future));
  const source = ruleSource(users, (name) => withoutViews(future.get(name)));
  const asked = new Set(define.map(({ definition }) => definition.name));
  const values = new Map(
    plans.flatMap(({ steps }) => steps.flatMap(renamedValuesIn)).map(({ from, to }) => [from, to]),
  );
  const newNames: NewNames = (word) => newCollection(word) ?? values.get(word);
  for (const definition of future.values())
    checkRules(definition, source, { isAsked: asked.has(definition.name), newNames });
  return all;
}

function renamedValuesIn(step: PlanStep): readonly ValueRename[] {
  return (step.step === "values" ? step.renamed : undefined) ?? [];
}

/** The plans of the collections with relations to renamed collections, as far as the change does not define the collections. */
function relationsThatFollow(
  plans: readonly CollectionPlan[],
  kept: Definitions,
  renames: CollectionRenames,
): CollectionPlan[] {
  const planned = new Set(plans.map(({ before }) => before?.name));
  return [...kept.values()].flatMap((before) => {
    const after = withNewTargets(before, renames);
    // The fields of a view follow its query.
    if (after === before || isView(before) || planned.has(before.name)) return [];
    return withCollectionRenames({ before, after, steps: [] }, before, renames);
  });
}

function planDefinitions(
  { define, drop }: SchemaChange,
  current: Definitions,
  { renames, newNames, users }: { renames: CollectionRenames; newNames: NewNames; users: UserTable },
): CollectionPlan[] {
  const future = new Map(current);
  for (const name of drop)
    if (!future.delete(name)) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
  for (const name of renames.keys()) future.delete(name);
  const oldNames = new Map([...renames].map(([from, to]) => [to, from]));
  const plans: CollectionPlan[] = [];
  for (const item of define) {
    const { definition } = item;
    if (!future.has(definition.name)) refuseTwin(definition.name, future.keys());
    future.set(definition.name, definition);
    const before = current.get(oldNames.get(definition.name) ?? definition.name) ?? null;
    const renamed = before && { ...withNewTargets(before, renames), name: definition.name };
    try {
      const isFirstOfUsers = before === null && definition.name === USERS;
      if (before !== null && isView(before) !== isView(definition))
        throw new AppError("bad_request", `a view and a collection cannot become each other; choose another name`);
      if (before !== null && item.takesOver !== undefined)
        throw new AppError("bad_request", `there is a collection "${definition.name}" now; give it another name first`);
      const plan = isView(definition)
        ? { before, after: definition, steps: [] }
        : item.takesOver
          ? planReturn(definition, item.takesOver)
          : isFirstOfUsers
            ? planUsers(item, users)
            : planMigration(renamed, item);
      plans.push(withCollectionRenames(plan, before, renames));
    } catch (thrown) {
      rethrow(definition.name, thrown);
    }
  }
  const defined = new Set(define.map(({ definition }) => definition.name));
  for (const [name, definition] of future)
    if (!defined.has(name)) future.set(name, withNewTargets(definition, renames));
  for (const definition of future.values()) refuseDanglingRelations(definition, future, { drop, newNames });
  refuseSearchNamesakes([...future.values()].filter(({ search }) => search !== undefined).map(({ name }) => name));
  return plans;
}

/** A definition of records that paths can enter: of a collection. */
function withoutViews(definition: CollectionDefinition | undefined): CollectionDefinition | undefined {
  return definition !== undefined && isView(definition) ? undefined : definition;
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
  future: Definitions,
  { drop, newNames }: { drop: readonly string[]; newNames: NewNames },
): void {
  for (const { name, collection: target } of isView(definition) ? [] : definition.fields) {
    if (target === undefined || target === USERS || withoutViews(future.get(target)) !== undefined) continue;
    if (future.has(target))
      throw new MigrationError(definition.name, `field "${name}": "${target}" is a view, to which no record can point`);
    if (drop.includes(target)) {
      const pointing = [...future.values()].flatMap((other) =>
        other.fields.filter((field) => field.collection === target).map((field) => `${other.name}.${field.name}`),
      );
      const verb = pointing.length === 1 ? "points" : "point";
      throw new MigrationError(
        target,
        `collection "${target}" cannot be deleted: ${pointing.join(", ")} ${verb} to it`,
      );
    }
    const renamed = newNames(target);
    const near = nearest(target, [...future.keys(), USERS]);
    const guess = near === null ? "" : `; did you mean "${near}"?`;
    const hint = renamed === undefined ? guess : `; ${isNow(renamed)}`;
    throw new MigrationError(
      definition.name,
      `field "${name}": there is no collection ${quote(target)} to point to${hint}`,
    );
  }
}
