/** Rules that follow renames: the new names of collections, fields and values in the rules of all collections. */
import { type CollectionDefinition, isRuleWord, type Rule } from "@socle/protocol";
import { type FieldReference, referencesOf } from "../expressions/index.ts";
import { expressionSchema, type SchemaSource } from "./collection.ts";
import {
  type CollectionPlan,
  type Definitions,
  originOf,
  type PlanStep,
  successorOf,
  type ValueRename,
} from "./plan.ts";
import { givenRuleAt, givenRules, withRule } from "./rules.ts";

/** The renames of a change, by the old names of collections and fields. */
interface Renames {
  readonly collections: ReadonlyMap<string, string>;
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly values: ReadonlyMap<string, ReadonlyMap<string, readonly ValueRename[]>>;
}

function renamesOf(plans: readonly CollectionPlan[]): Renames {
  const fields = new Map<string, Map<string, string>>();
  const values = new Map<string, Map<string, readonly ValueRename[]>>();
  const collections = new Map<string, string>();
  for (const plan of plans)
    for (const step of plan.steps) {
      const { name } = plan.before ?? plan.after;
      if (step.step === "renameCollection") collections.set(step.from, step.to);
      if (step.step === "rename") fields.getOrInsertComputed(name, () => new Map()).set(step.from, step.field);
      if (step.step === "values" && step.renamed !== undefined)
        values.getOrInsertComputed(name, () => new Map()).set(originOf(plan, step.field), step.renamed);
    }
  return { collections, fields, values };
}

/**
 * Puts the new names into every rule that has the old names, also into rules of other collections. Replaces the plans of these collections; answers plans for collections without a plan.
 * @param kept the present definitions of the collections that stay.
 * @param source the present definitions of all collections: a former rule may enter a collection that goes.
 */
export function followRenames(plans: CollectionPlan[], kept: Definitions, source: SchemaSource): CollectionPlan[] {
  const renames = renamesOf(plans);
  if (Object.values(renames).every(({ size }) => size === 0)) return [];
  const following: CollectionPlan[] = [];
  for (const definition of kept.values()) {
    const at = plans.findIndex(({ before }) => before?.name === definition.name);
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

/** Renames in the unchanged rules of the new definition; a changed rule has the new names already. */
function withRenamed(plan: CollectionPlan, before: CollectionDefinition, rename: (rule: Rule) => Rule): CollectionPlan {
  let { after, steps } = plan;
  for (const { site, rule: from } of givenRules(before)) {
    const to = isRuleWord(from) ? from : rename(from);
    const newSite = site.field === null ? site : { ...site, field: successorOf(plan, site.field) };
    const { field } = newSite;
    if (to === from || givenRuleAt(after, newSite) !== from) continue;
    after = withRule(after, newSite, to);
    const step: PlanStep = field === null ? { step: "permissions" } : { step: "permissions", field };
    if (!steps.some((each) => each.step === "permissions" && (each.field ?? null) === field)) steps = [...steps, step];
  }
  return after === plan.after ? plan : { ...plan, after, steps };
}

/** A text that takes the place of the text from `offset` up to `end`. */
interface Replacement {
  readonly offset: number;
  readonly end: number;
  readonly text: string;
}

function renameIn(rule: string, references: readonly FieldReference[], renames: Renames): string {
  let renamed = rule;
  // From the end, so that earlier offsets stay valid.
  for (const { offset, end, text } of references
    .flatMap((reference) => replacementsOf(reference, renames))
    .sort((a, b) => b.offset - a.offset))
    renamed = renamed.slice(0, offset) + text + renamed.slice(end);
  return renamed;
}

function replacementsOf(reference: FieldReference, renames: Renames): Replacement[] {
  const { collection, field, offset, texts, collectionOffset: start } = reference;
  const found: Replacement[] = [];
  const newName = renames.collections.get(collection);
  if (start !== undefined && newName !== undefined)
    found.push({ offset: start, end: start + collection.length, text: newName });
  const name = renames.fields.get(collection)?.get(field);
  if (name !== undefined) found.push({ offset, end: offset + field.length, text: name });
  const values = renames.values.get(collection)?.get(field) ?? [];
  for (const place of texts) {
    const value = values.find(({ from }) => from === place.text);
    if (value !== undefined) found.push({ ...place, text: JSON.stringify(value.to) });
  }
  return found;
}
