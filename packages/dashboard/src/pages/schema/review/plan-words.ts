/** A migration's plan in words: a line per step, with the old and the new value, and whether values are dropped. */
import {
  type CollectionDefinition,
  type FieldDefinition,
  isRuleWord,
  type MigrationPlan,
  type MigrationStep,
} from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import { sentenceOf } from "../permissions/rules.ts";

type Tone = "add" | "change" | "drop" | "loss";

export interface StepWords {
  readonly tone: Tone;
  /** The title of the step, with names between backticks. */
  readonly title: string;
  /** Old and new values, a line per value. */
  readonly details: readonly string[];
}

const words = text.schema.plan;

export interface PlanContext {
  /** The stored definition; null for a new collection. */
  readonly before: CollectionDefinition | null;
  readonly after: CollectionDefinition;
  readonly plan: MigrationPlan;
}

function fieldIn(definition: CollectionDefinition | null, name: string | undefined): FieldDefinition | undefined {
  return definition?.fields.find((field) => field.name === name);
}

/** The differing rules: "max: 200 → 100". */
function ruleDetails(old: FieldDefinition | undefined, next: FieldDefinition | undefined): string[] {
  const details: string[] = [];
  for (const rule of ["min", "max", "regex"] as const)
    if (old?.[rule] !== next?.[rule]) details.push(words.changed(rule, old?.[rule], next?.[rule]));
  if (old?.required === true && next?.required !== true) details.push(words.mayBeEmpty);
  return details;
}

function shownDefault(field: FieldDefinition | undefined): string | undefined {
  return field?.default === undefined ? undefined : JSON.stringify(field.default);
}

/** The differing rules in force, and what the new rules mean. */
function permissionDetails({ field, rules = [] }: MigrationStep): string[] {
  return rules.map(({ operation, from, to }) => {
    const change = words.changed(operation, from, to);
    return field === undefined && operation !== "history" && isRuleWord(to)
      ? `${change} · ${sentenceOf(operation, to)}`
      : change;
  });
}

/** The indexes, sequences and the search that name a field: the parts of the definition that follow a rename. */
function followers({ before }: PlanContext, name: string): string[] {
  const { fields = [], indexes = [], search = [] } = before ?? {};
  const inIndexes = indexes
    .map((index) => ("fields" in index ? index.fields : index))
    .filter((names) => names.includes(name));
  const inSequences = fields.filter(({ sequence }) => Array.isArray(sequence) && sequence.includes(name));
  return [
    ...inIndexes.map((names) => words.inIndex(names)),
    ...inSequences.map((field) => words.inSequence(field.name)),
    ...(search.includes(name) ? [words.inSearch] : []),
  ];
}

/** A step with the facts that its words name. */
interface Facts
  extends Required<Pick<MigrationStep, "field" | "fields" | "from" | "to" | "renamed" | "unique" | "on" | "records">> {
  readonly context: PlanContext;
  readonly step: MigrationStep;
  /** The field before and after the change. */
  readonly old: FieldDefinition | undefined;
  readonly next: FieldDefinition | undefined;
  /** The default that existing records get, as JSON. */
  readonly given: string | undefined;
}

type Words = readonly [title: string, ...details: string[]];

/** The words of the steps that the dashboard knows. */
const wordsBy: { readonly [step: string]: (facts: Facts) => Words } = {
  create: ({ context }) => [words.create(context.plan.collection)],
  delete: ({ context, records }) => [words.delete(context.plan.collection, records)],
  add: ({ field, next, records, given }) => {
    const title = words.add(field, next?.type ?? "");
    if (records === 0) return [title];
    return [title, given === undefined ? words.getNull(records) : words.getDefault(records, given)];
  },
  drop: ({ field, context, records }) => {
    if (records > 0) return [words.dropLoss(field, records)];
    return [words.drop(field), fieldIn(context.before, field)?.owner === true ? words.ownersStay : words.noLoss];
  },
  renameCollection: ({ from, to, records }) => [words.renameCollection(from, to), words.keepValues(records)],
  follow: ({ field, from, to }) => [words.follow(field, from, to)],
  rename: ({ field, from, records, context }) => [
    words.rename(from, field),
    words.keepValues(records),
    ...followers(context, from),
  ],
  require: ({ field, records }) => [words.require(field), words.checked(records)],
  unique: ({ field, on, to, records }) => {
    if (!on) return [words.notUnique(field)];
    return [to === "nocase" ? words.uniqueInAnyCase(field) : words.unique(field), words.checked(records)];
  },
  multiple: ({ field, on, records }) => [on ? words.multiple(field) : words.notMultiple(field), words.checked(records)],
  type: ({ field, from, to, records }) => [words.type(field, from, to), words.keepValues(records)],
  owner: ({ field, on, records }) => [on ? words.owner(field) : words.notOwner(field), words.concerns(records)],
  retarget: ({ field, from, to }) => [words.retarget(field, from, to)],
  values: ({ field, old, next, renamed, records }) => [
    words.values(field),
    ...renamed.map((value) => words.renamedValue(value.from, value.to, value.records)),
    words.changed("values", old?.values?.join(", "), next?.values?.join(", ")),
    words.checked(records),
  ],
  onDelete: ({ field, old, next }) => [words.onDelete(field), words.changed("onDelete", old?.onDelete, next?.onDelete)],
  sequence: ({ field, on, records }) =>
    on ? [words.sequence(field), words.numbered(records)] : [words.noSequence(field)],
  default: ({ field, old, next }) => [
    words.default(field),
    words.changed("default", shownDefault(old), shownDefault(next)),
    words.onlyNew,
  ],
  permissions: ({ field, step }) => [
    field === "" ? words.permissions : words.fieldRules(field),
    ...permissionDetails(step),
  ],
  rules: ({ field, old, next, records }) => [words.rules(field), ...ruleDetails(old, next), words.checked(records)],
  index: ({ fields, unique, on, records }) =>
    on ? [words.index(fields, unique), words.concerns(records)] : [words.noIndex(fields)],
  search: ({ fields, records }) => [words.search(fields), words.concerns(records)],
  trash: ({ context }) => [words.trash(context.after.trash)],
  query: () => [words.query],
  order: () => [words.order],
};

function toneOf({ step, records, on = true }: MigrationStep): Tone {
  if (step === "delete" || (step === "drop" && records > 0)) return "loss";
  if (step === "drop" || (step === "index" && !on)) return "drop";
  return step === "create" || step === "add" || step === "index" ? "add" : "change";
}

export function wordsOf(step: MigrationStep, context: PlanContext): StepWords {
  const { field = "", fields = [], from = "", to = "", renamed = [], unique = false, on = true, records } = step;
  const oldName = context.plan.steps.find((each) => each.step === "rename" && each.field === field)?.from ?? field;
  const [old, next] = [fieldIn(context.before, oldName), fieldIn(context.after, field)];
  const given = step.default === undefined ? undefined : JSON.stringify(step.default);
  const facts = { field, fields, from, to, renamed, unique, on, records, context, step, old, next, given };
  const [title, ...details] = wordsBy[step.step]?.(facts) ?? [step.step, words.concerns(records)];
  return { tone: toneOf(step), title, details };
}

/** The number of values that all steps of a plan would drop. */
export function lossOf(plan: MigrationPlan): number {
  return plan.steps.reduce((sum, { step, records }) => (step === "drop" || step === "delete" ? sum + records : sum), 0);
}
