/**
 * The plans of a schema change: each definition beside the former definition, and the contradictions between definitions.
 */
import type { CollectionDefinition, ErrorDetail } from "@socle/protocol";
import { AppError, nearest, quote } from "../../base/kernel/index.ts";
import { isWord } from "../permissions/index.ts";
import { type SchemaSource, searchTableName, type UserTable } from "./collection.ts";
import { type CollectionPlan, type Definitions, type ParsedDefinition, planMigration } from "./plan.ts";
import { followRenames } from "./rule-renames.ts";
import { givenRules, parseRule, RuleError, ruleSource } from "./rules.ts";

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
