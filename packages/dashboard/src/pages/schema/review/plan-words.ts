/** A migration's plan in words: a line per step, with the old and the new value, and whether data is lost. */
import {
  type CollectionDefinition,
  FIELD_OPERATIONS,
  type FieldDefinition,
  type MigrationPlan,
  type MigrationStep,
  OPERATIONS,
} from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import { noPermissions } from "../draft/draft.ts";
import { effectiveRule, sentenceOf } from "../permissions/rules.ts";

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

function permissionDetails({ before, after }: PlanContext): string[] {
  const [old, next] = [
    { ...noPermissions, ...before?.permissions },
    { ...noPermissions, ...after.permissions },
  ];
  return OPERATIONS.flatMap((operation) => {
    const [was, is] = [effectiveRule(old, operation).rule, effectiveRule(next, operation).rule];
    return was === is ? [] : [`${words.changed(operation, was, is)} · ${sentenceOf(operation, is)}`];
  });
}

function fieldStep(step: MigrationStep, context: PlanContext): StepWords | null {
  const { before, after, plan } = context;
  const { field = "", records, on = true } = step;
  const from = plan.steps.find((each) => each.step === "rename" && each.field === field)?.from ?? field;
  const [old, next] = [fieldIn(before, from), fieldIn(after, field)];
  const given = step.default === undefined ? null : JSON.stringify(step.default);
  switch (step.step) {
    case "add":
      return {
        tone: "add",
        title: words.add(field, next?.type ?? ""),
        details: records === 0 ? [] : [given === null ? words.getNull(records) : words.getDefault(records, given)],
      };
    case "drop": {
      const isOwner = fieldIn(before, field)?.owner === true;
      const note = isOwner ? words.ownersStay : words.noLoss;
      const isLoss = records > 0;
      return {
        tone: isLoss ? "loss" : "drop",
        title: isLoss ? words.dropLoss(field, records) : words.drop(field),
        details: isLoss ? [] : [note],
      };
    }
    case "rename":
      return { tone: "change", title: words.rename(step.from ?? "", field), details: [words.keepValues(records)] };
    case "require":
      return { tone: "change", title: words.require(field), details: [words.checked(records)] };
    case "unique":
      return {
        tone: "change",
        title: on ? words.unique(field) : words.notUnique(field),
        details: on ? [words.checked(records)] : [],
      };
    case "multiple":
      return {
        tone: "change",
        title: on ? words.multiple(field) : words.notMultiple(field),
        details: [words.checked(records)],
      };
    case "owner":
      return {
        tone: "change",
        title: on ? words.owner(field) : words.notOwner(field),
        details: [words.concerns(records)],
      };
    case "retarget":
      return { tone: "change", title: words.retarget(field, step.from ?? "", step.to ?? ""), details: [] };
    case "values":
      return {
        tone: "change",
        title: words.values(field),
        details: [words.changed("values", old?.values?.join(", "), next?.values?.join(", ")), words.checked(records)],
      };
    case "onDelete":
      return {
        tone: "change",
        title: words.onDelete(field),
        details: [words.changed("onDelete", old?.onDelete, next?.onDelete)],
      };
    case "sequence":
      return {
        tone: "change",
        title: on ? words.sequence(field) : words.noSequence(field),
        details: on ? [words.numbered(records)] : [],
      };
    case "default":
      return {
        tone: "change",
        title: words.default(field),
        details: [words.changed("default", shownDefault(old), shownDefault(next)), words.onlyNew],
      };
    case "permissions":
      if (step.field === undefined)
        return { tone: "change", title: words.permissions, details: permissionDetails(context) };
      return {
        tone: "change",
        title: words.fieldRules(field),
        details: FIELD_OPERATIONS.flatMap((operation) => {
          const [was, is] = [old?.permissions?.[operation], next?.permissions?.[operation]];
          return was === is ? [] : [words.changed(operation, was, is)];
        }),
      };
    case "rules":
      return {
        tone: "change",
        title: words.rules(field),
        details: [...ruleDetails(old, next), words.checked(records)],
      };
    default:
      return null;
  }
}

export function wordsOf(step: MigrationStep, context: PlanContext): StepWords {
  const { fields = [], unique = false, on = true, records } = step;
  switch (step.step) {
    case "create":
      return { tone: "add", title: words.create(context.plan.collection), details: [] };
    case "delete":
      return { tone: "loss", title: words.delete(context.plan.collection, records), details: [] };
    case "index":
      return on
        ? { tone: "add", title: words.index(fields, unique), details: [words.concerns(records)] }
        : { tone: "drop", title: words.noIndex(fields), details: [] };
    case "search":
      return { tone: "change", title: words.search(fields), details: [words.concerns(records)] };
    case "order":
      return { tone: "change", title: words.order, details: [] };
    default:
      return fieldStep(step, context) ?? { tone: "change", title: step.step, details: [words.concerns(records)] };
  }
}

/** The number of values that all steps of a plan would lose. */
export function lossOf(plan: MigrationPlan): number {
  return plan.steps.reduce((sum, { step, records }) => (step === "drop" || step === "delete" ? sum + records : sum), 0);
}
