/** Renames of collections: the collections that a change renames, and the relations that follow. */
import { type CollectionDefinition, USERS } from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";
import { MigrationError } from "./migration-error.ts";
import { type CollectionPlan, type Definitions, originOf, type ParsedDefinition, type PlanStep } from "./plan.ts";

/** Old name → new name, of the collections that a change renames. */
export type CollectionRenames = ReadonlyMap<string, string>;

/**
 * The renames that a change asks for. An old name without a collection is left alone: a new database starts from the same
 * files, and a repeated request finds the rename done.
 * @throws MigrationError when the old name or the new name has another meaning, too.
 */
export function collectionRenames(define: readonly ParsedDefinition[], current: Definitions): CollectionRenames {
  const renames = new Map<string, string>();
  for (const { definition, collectionFrom: from } of define) {
    const { name } = definition;
    if (from === undefined || from === name) continue;
    const refuse = (why: string): never => {
      throw new MigrationError(name, `"renamedFrom": ${quote(from)}: ${why}`);
    };
    if (from === USERS) refuse(`"${USERS}" cannot be renamed`);
    if (define.some((other) => other.definition.name === from))
      refuse(`another definition is called ${quote(from)}; leave out one of the two`);
    if (!current.has(from)) continue;
    if (from.toLowerCase() === name.toLowerCase())
      refuse(`a rename to a name that differs only in case needs another name in between`);
    if (current.has(name))
      refuse(
        `there is a collection ${quote(name)} already; delete ${quote(name)} first if ${quote(from)} is to take the name`,
      );
    const twin = renames.get(from);
    if (twin !== undefined) refuse(`the collection "${twin}" is renamed from ${quote(from)}, too`);
    renames.set(from, name);
  }
  return renames;
}

/** A definition with the new names of the targets of relations. The same object without a renamed target. */
export function withNewTargets(definition: CollectionDefinition, renames: CollectionRenames): CollectionDefinition {
  if (!definition.fields.some(({ collection = "" }) => renames.has(collection))) return definition;
  const fields = definition.fields.map((field) => {
    const target = renames.get(field.collection ?? "");
    return target === undefined ? field : { ...field, collection: target };
  });
  return { ...definition, fields };
}

/** Adds the renames of collections to the plan of a definition, which was made from a definition with the new names. */
export function withCollectionRenames(
  plan: CollectionPlan,
  before: CollectionDefinition | null,
  renames: CollectionRenames,
): CollectionPlan {
  if (before === null) return plan;
  const { name } = plan.after;
  const renamed: PlanStep[] = before.name === name ? [] : [{ step: "renameCollection", from: before.name, to: name }];
  const following = plan.after.fields.flatMap(({ name: field, collection: to = "" }): PlanStep[] => {
    const from = before.fields.find((old) => old.name === originOf(plan, field))?.collection ?? "";
    return renames.get(from) === to ? [{ step: "follow", field, from, to }] : [];
  });
  return { ...plan, before, steps: [...renamed, ...plan.steps, ...following] };
}
