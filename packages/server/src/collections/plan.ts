import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { AppError, quote } from "../kernel/index.ts";
import type { ParsedDefinition } from "./definition.ts";

/** One change of a collection's table or rules, in the words of the spec's table "Schema migration". */
export type PlanStep =
  | { step: "create" }
  | { step: "rename"; field: string; from: string }
  | { step: "drop"; field: string }
  | { step: "add"; field: string }
  /** The owner column takes over from, or hands over to, a column of the field. */
  | { step: "owner"; field: string; on: boolean }
  | { step: "require"; field: string }
  | { step: "unique"; field: string; on: boolean }
  | { step: "retarget"; field: string; from: string; to: string }
  /** `stricter`: those of its rules that old values may break. */
  | { step: "rules"; field: string; stricter: readonly BoundRule[] }
  | { step: "permissions" }
  /** The same fields in another order. */
  | { step: "order" };

/** The rules whose bounds can be moved. */
export type BoundRule = "min" | "max" | "regex";

/** How a collection gets from one definition to another. */
export interface Plan {
  readonly before: CollectionDefinition | null;
  readonly after: CollectionDefinition;
  readonly steps: readonly PlanStep[];
}

const howToTell = `give each renamed field "renamedFrom": its old name, and each new one "renamedFrom": null`;

/** Which old field each new field continues: new name → old name. */
function findRenames(before: CollectionDefinition, parsed: ParsedDefinition): Map<string, string> {
  const { definition: after, renamedFrom } = parsed;
  const oldNames = new Set(before.fields.map((field) => field.name));
  const renames = new Map<string, string>();
  for (const [name, oldName] of renamedFrom) {
    // Asked for again, as by a request that is sent twice: the old name is gone, the new one is there.
    if (oldName === null || oldName === name || (!oldNames.has(oldName) && oldNames.has(name))) continue;
    if (!oldNames.has(oldName))
      throw new AppError("bad_request", `field "${name}": there is no field ${quote(oldName)} to rename`);
    if ([...renames.values()].includes(oldName))
      throw new AppError("bad_request", `two fields say that they were ${quote(oldName)}`);
    renames.set(name, oldName);
  }
  const taken = new Set(renames.values());
  const newNames = new Set(after.fields.map((field) => field.name));
  const removed = before.fields.filter((field) => !newNames.has(field.name) && !taken.has(field.name));
  const added = after.fields.filter(
    (field) => !oldNames.has(field.name) && !renames.has(field.name) && renamedFrom.get(field.name) !== null,
  );
  const isLikely = added.some((field) => removed.some((old) => old.type === field.type));
  if (!isLikely && (added.length < 2 || removed.length < 2)) return renames;
  const [onlyAdded, onlyRemoved] = [added[0], removed[0]];
  if (added.length > 1 || removed.length > 1 || onlyAdded === undefined || onlyRemoved === undefined) {
    const names = (fields: FieldDefinition[]): string => fields.map((field) => `"${field.name}"`).join(", ");
    throw new AppError(
      "bad_request",
      `fields ${names(removed)} are gone and ${names(added)} are new, so a rename cannot be told from a loss: ${howToTell}`,
    );
  }
  renames.set(onlyAdded.name, onlyRemoved.name);
  return renames;
}

function stricterRules(old: FieldDefinition, field: FieldDefinition): BoundRule[] {
  const rules: BoundRule[] = [];
  if (field.min !== undefined && (old.min === undefined || field.min > old.min)) rules.push("min");
  if (field.max !== undefined && (old.max === undefined || field.max < old.max)) rules.push("max");
  if (field.regex !== undefined && field.regex !== old.regex) rules.push("regex");
  return rules;
}

function compareField(old: FieldDefinition, field: FieldDefinition): PlanStep[] {
  if (old.type !== field.type)
    throw new AppError(
      "bad_request",
      `field "${field.name}": its type cannot change from ${old.type} to ${field.type}; add a field with another name`,
    );
  const steps: PlanStep[] = [];
  const name = field.name;
  if (old.collection !== field.collection)
    steps.push({ step: "retarget", field: name, from: String(old.collection), to: String(field.collection) });
  if ((old.owner === true) !== (field.owner === true))
    steps.push({ step: "owner", field: name, on: field.owner === true });
  if (field.required === true && old.required !== true) steps.push({ step: "require", field: name });
  const takesOwner = field.owner === true && old.owner !== true;
  if ((old.unique === true) !== (field.unique === true) || (takesOwner && field.unique === true))
    steps.push({ step: "unique", field: name, on: field.unique === true });
  const loosened = old.required === true && field.required !== true;
  if (loosened || old.min !== field.min || old.max !== field.max || old.regex !== field.regex)
    steps.push({ step: "rules", field: name, stricter: stricterRules(old, field) });
  return steps;
}

/** The name that a field had before. */
export function originOf(plan: Plan, field: string): string {
  const rename = plan.steps.find((step) => step.step === "rename" && step.field === field);
  return rename?.step === "rename" ? rename.from : field;
}

/**
 * The way from one definition to another, in the order in which it is gone: renames, drops, additions, rules.
 * @throws AppError `bad_request` for a change that is refused whatever the data (a type change, an unclear rename).
 */
export function planMigration(before: CollectionDefinition | null, parsed: ParsedDefinition): Plan {
  const after = parsed.definition;
  if (before === null) return { before, after, steps: [{ step: "create" }] };
  const renames = findRenames(before, parsed);
  const movedAway = new Set(renames.values());
  const continued = new Set<string>();
  const steps: PlanStep[] = [];
  const additions: PlanStep[] = [];
  const changes: PlanStep[] = [];
  for (const field of after.fields) {
    const from = renames.get(field.name) ?? field.name;
    const old = before.fields.find((candidate) => candidate.name === from);
    // A name whose old field moved elsewhere starts afresh.
    if (old === undefined || (from === field.name && movedAway.has(from))) {
      additions.push({ step: "add", field: field.name });
      if (field.required === true) changes.push({ step: "require", field: field.name });
      // Any other new field is empty, and empty values never violate it.
      if (field.unique === true && field.owner === true) changes.push({ step: "unique", field: field.name, on: true });
      continue;
    }
    continued.add(old.name);
    if (from !== field.name) steps.push({ step: "rename", field: field.name, from });
    changes.push(...compareField(old, field));
  }
  for (const field of before.fields) if (!continued.has(field.name)) steps.push({ step: "drop", field: field.name });
  // Checks of old values come before the owner column moves, and it is handed over before it is taken.
  const rank = (change: PlanStep): number => {
    if (change.step === "retarget") return 0;
    return change.step === "owner" ? (change.on ? 2 : 1) : 3;
  };
  steps.push(...additions, ...changes.sort((a, b) => rank(a) - rank(b)));
  if (JSON.stringify(before.permissions ?? null) !== JSON.stringify(after.permissions ?? null))
    steps.push({ step: "permissions" });
  if (steps.length === 0 && JSON.stringify(before) !== JSON.stringify(after)) steps.push({ step: "order" });
  return { before, after, steps };
}
