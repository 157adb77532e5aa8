/**
 * The upgrade of definitions of earlier versions, in which an operation that was not named took the rule of the operation
 * before: the rules that would mean something else now are written into the stored definition.
 */
import {
  type CollectionDefinition,
  effectiveRules,
  OPERATIONS,
  type Permissions,
  ruleText,
  USERS,
} from "@socle/protocol";
import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../../store/database/index.ts";
import { appliedFiles, definitionsOfFormerRules, putFormerRules } from "./definition-table.ts";

/** The rules that a definition has to name to keep the meaning; empty if every rule keeps the meaning. */
function rulesToName({ name, permissions: given = {} }: CollectionDefinition): Permissions {
  // The rules of users were always named.
  if (name === USERS) return {};
  const update = given.update ?? given.create ?? given.read ?? "public";
  const former = { update, delete: given.delete ?? update };
  const toName: Permissions = {};
  for (const operation of ["update", "delete"] as const)
    if (ruleText(effectiveRules({ ...given, ...toName })[operation]) !== former[operation])
      toName[operation] = former[operation];
  return toName;
}

/** The definition with more rules, in the order of operations, as the parser makes definitions. */
function withRules(definition: CollectionDefinition, rules: Permissions): CollectionDefinition {
  const permissions = { ...definition.permissions, ...rules };
  const named = OPERATIONS.filter((operation) => permissions[operation] !== undefined);
  return {
    ...definition,
    permissions: Object.fromEntries(named.map((operation) => [operation, permissions[operation]])),
  };
}

/** Upgrades the definitions that an earlier version stored, and tells the rules that were written. */
export async function nameFormerRules(database: Database, logger: Logger): Promise<void> {
  if (definitionsOfFormerRules(database.reader).length === 0) return;
  await database.upkeep((tx) => {
    const files = new Map(appliedFiles(tx).map(({ collection, file }) => [collection, file]));
    for (const definition of definitionsOfFormerRules(tx)) {
      const { name } = definition;
      const rules = rulesToName(definition);
      const told = Object.entries(rules).map(([operation, rule]) => `"${operation}": ${JSON.stringify(rule)}`);
      putFormerRules(tx, told.length === 0 ? definition : withRules(definition, rules));
      if (told.length === 0) continue;
      const file = files.get(name);
      const advice = file === undefined ? "" : `. Name the rules in ${file}, too`;
      const message = `The rules of "${name}" that were not named keep their meaning: the stored definition names ${told.join(", ")} now${advice}`;
      tx.onDurable(() => logger.warn(message, { collection: name }));
    }
  });
}
