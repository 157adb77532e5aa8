/** Migration plan: the renames and the steps from a collection definition to the next. */
import {
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  type CollectionDefinition,
  type FieldDefinition,
  type FieldType,
  type IndexDefinition,
  isUnique,
  type JsonValue,
} from "@socle/protocol";
import { isLiteral } from "@socle/protocol/filter";
import { AppError, quote } from "../../base/kernel/index.ts";
import { fillOf, maxItemsOf } from "../fields/index.ts";
import { resolveFieldRules } from "../permissions/index.ts";
import { indexesOf } from "./collection.ts";

const howToTell = `give each renamed field "renamedFrom": its old name, and each new one "renamedFrom": null`;

/** Definitions by the name of the collection. */
export type Definitions = ReadonlyMap<string, CollectionDefinition>;

/** A definition as sent: with its renames, which are not stored. */
export interface ParsedDefinition {
  definition: CollectionDefinition;
  /** The old name of a renamed collection. Absent without a rename. */
  collectionFrom?: string;
  /** New name → old name, or null for a field that is new on purpose. */
  renamedFrom: ReadonlyMap<string, string | null>;
  /** The floats that may have been integers before. Absent without such fields. */
  converted?: ReadonlySet<string>;
  /** By field: the values that take the place of other values. Absent without renamed values. */
  renamedValues?: ReadonlyMap<string, readonly ValueRename[]>;
  /** The parts that have no effect, as sentences. Absent without such parts. */
  warnings?: readonly string[];
  /** The dropped values that a field gets back. Absent for a change without a restore. */
  restored?: { readonly field: string; readonly n: number };
  /** The table that a new collection takes the records from; see `CollectionPlan.base`. */
  takesOver?: RecordSource;
  /** Whether one removed and one added field may be a rename without `renamedFrom`, as in the PUT of a collection. */
  mayGuess?: boolean;
}

/** A text of `values` that takes the place of another text, in every record. */
export interface ValueRename {
  readonly from: string;
  readonly to: string;
}

/** A table with records, quoted, and the rows as SQL. */
export interface RecordSource {
  readonly table: string;
  readonly rows: string;
}

/** One change of a collection's table or rules, in the words of the spec's table "Schema migration". */
export type PlanStep =
  | { step: "create" }
  | { step: "renameCollection"; from: string; to: string }
  /** The target of a relation is renamed. */
  | { step: "follow"; field: string; from: string; to: string }
  | { step: "rename"; field: string; from: string }
  | { step: "drop"; field: string }
  /** Dropped values go back into a field. */
  | { step: "restore"; field: string; n: number }
  /** `default`: the value that existing records get. */
  | { step: "add"; field: string; default?: JsonValue }
  /** The owner column takes over from, or hands over to, a column of the field. */
  | { step: "owner"; field: string; on: boolean }
  | { step: "require"; field: string }
  /** `to`: case of letters makes no difference. */
  | { step: "unique"; field: string; on: boolean; to?: "nocase" }
  | { step: "retarget"; field: string; from: string; to: string }
  /** `stricter`: the rules that existing values may break. */
  | { step: "rules"; field: string; stricter: readonly BoundRule[] }
  | { step: "multiple"; field: string; on: boolean }
  /** An integer becomes a float; every value stays. */
  | { step: "type"; field: string; from: FieldType; to: FieldType }
  /** The texts, or the order of the texts, change. `renamed`: the texts that records have under another name from now on. */
  | { step: "values"; field: string; renamed?: readonly ValueRename[] }
  | { step: "default"; field: string }
  /** The effect of a deletion of the target changes. */
  | { step: "onDelete"; field: string }
  /** The field numbers the records, divides the count by other fields, or stops numbering. */
  | { step: "sequence"; field: string; on: boolean }
  /** An index comes, named by the new names of the fields, or goes, named by the old ones. */
  | { step: "index"; fields: string[]; unique: boolean; on: boolean }
  /** Other fields are searched; the words of all records are read again. */
  | { step: "search"; fields: string[] }
  /** The rules of the collection, or of one field. */
  | { step: "permissions"; field?: string }
  /** From now on, deleted records are kept for another time; for no time without `to`. */
  | { step: "trash"; to?: string }
  /** The query of a view, or the fields of its query, change. */
  | { step: "query" }
  /** The same fields in another order, or the same indexes in other words. */
  | { step: "order" };

export type BoundRule = "min" | "max" | "regex" | "format";

/** The way of a collection from the former definition to the next. */
export interface CollectionPlan {
  readonly before: CollectionDefinition | null;
  readonly after: CollectionDefinition;
  readonly steps: readonly PlanStep[];
  /**
   * The records that a new table takes over, with a definition of the records. The steps lead from this definition to the
   * next. Absent for a table that begins empty.
   */
  readonly base?: RecordSource & { readonly definition: CollectionDefinition };
}

/** Which old field a new field continues under another name: new name → old name. */
type Renames = ReadonlyMap<string, string>;

/** Whether the same callers may read and write two fields. */
function hasSameRules(a: FieldDefinition, b: FieldDefinition): boolean {
  const [one, other] = [resolveFieldRules(a.permissions), resolveFieldRules(b.permissions)];
  return one.read === other.read && one.update === other.update;
}

/**
 * The renames from one definition to the next (contract, "Definition files"): the renames by `renamedFrom`. A change that
 * may guess, without any `renamedFrom`, has a rename also for a single removed and a single added field of equal type and
 * rules: no other callers read the values then. A field that is no origin is dropped.
 * @throws AppError `bad_request` for an unknown origin, and for an ambiguous rename.
 */
function findRenames(before: CollectionDefinition, parsed: ParsedDefinition): Renames {
  const { definition: after, renamedFrom } = parsed;
  const oldNames = new Set(before.fields.map((field) => field.name));
  const renames = new Map<string, string>();
  for (const [name, oldName] of renamedFrom) {
    // A repeated request: the old name is gone, the new name exists.
    if (oldName === null || oldName === name || (!oldNames.has(oldName) && oldNames.has(name))) continue;
    if (!oldNames.has(oldName))
      throw new AppError("bad_request", `field "${name}": there is no field ${quote(oldName)} to rename`);
    if ([...renames.values()].includes(oldName))
      throw new AppError("bad_request", `two fields have "renamedFrom": ${quote(oldName)}`);
    renames.set(name, oldName);
  }
  if (renamedFrom.size > 0 || parsed.mayGuess !== true) return renames;
  const newNames = new Set(after.fields.map((field) => field.name));
  const removed = before.fields.filter((field) => !newNames.has(field.name));
  const added = after.fields.filter((field) => !oldNames.has(field.name));
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
  if (hasSameRules(onlyRemoved, onlyAdded)) renames.set(onlyAdded.name, onlyRemoved.name);
  return renames;
}

/** The new name of an old field: null for a dropped field, the same name for an unknown field. */
type NewName = (name: string) => string | null;

function newNames(before: CollectionDefinition, after: CollectionDefinition, renames: Renames): NewName {
  const names = new Map<string, string | null>(before.fields.map(({ name }) => [name, null]));
  for (const { name } of after.fields) if (names.has(name) && !renames.has(name)) names.set(name, name);
  for (const [name, oldName] of renames) names.set(oldName, name);
  return (name) => {
    const found = names.get(name);
    return found === undefined ? name : found;
  };
}

/**
 * A definition with the stored indexes and the stored search in place of the attributes that were not sent, under the new
 * names of the fields.
 * @throws AppError `bad_request` when a field of an index or of the search is gone.
 */
export function keepUnsent(
  before: CollectionDefinition,
  parsed: ParsedDefinition,
  sent: { readonly indexes: unknown; readonly search: unknown },
): ParsedDefinition {
  const indexes = sent.indexes === undefined ? before.indexes : undefined;
  const search = sent.search === undefined ? before.search : undefined;
  if (indexes === undefined && search === undefined) return parsed;
  const newName = newNames(before, parsed.definition, findRenames(before, parsed));
  const definition = { ...parsed.definition };
  if (indexes !== undefined) definition.indexes = keptIndexes(indexes, newName);
  if (search !== undefined) definition.search = keptSearch(search, newName);
  return { ...parsed, definition };
}

function keptIndexes(indexes: readonly IndexDefinition[], newName: NewName): IndexDefinition[] {
  const problems: string[] = [];
  const kept = indexes.map((index) => {
    const old = Array.isArray(index) ? index : index.fields;
    const fields = old.map((name) => newName(name) ?? name);
    for (const name of old)
      if (newName(name) === null) problems.push(`field ${quote(name)} is gone, and the index ${quote(old)} needs it`);
    return Array.isArray(index) ? fields : { ...index, fields };
  });
  if (problems.length > 0)
    throw new AppError("bad_request", `${problems.join("; ")}: send "indexes", too, with the indexes that stay`);
  return kept;
}

function keptSearch(search: readonly string[], newName: NewName): string[] {
  return search.map((old) => {
    const name = newName(old);
    if (name !== null) return name;
    throw new AppError(
      "bad_request",
      `field ${quote(old)} is gone, and is among the searched fields: send "search", too, with the new searched fields`,
    );
  });
}

/** Whether a field turns multiple, or single. */
function turns(old: FieldDefinition, field: FieldDefinition): boolean {
  return (old.multiple === true) !== (field.multiple === true);
}

/** The most that a field may hold; a multiple field always has a bound. */
function maxOf(field: FieldDefinition): number | undefined {
  return field.multiple === true ? maxItemsOf(field) : field.max;
}

function stricterRules(old: FieldDefinition, field: FieldDefinition): BoundRule[] {
  const rules: BoundRule[] = [];
  // The bounds of a field that turns multiple, or single, change their meaning.
  const isOther = turns(old, field);
  const [max, oldMax] = [maxOf(field), maxOf(old)];
  if (field.min !== undefined && (isOther || old.min === undefined || field.min > old.min)) rules.push("min");
  if (max !== undefined && (isOther || oldMax === undefined || max < oldMax)) rules.push("max");
  if (field.regex !== undefined && field.regex !== old.regex) rules.push("regex");
  if (field.format !== undefined && field.format !== old.format) rules.push("format");
  return rules;
}

/**
 * The renames of values that the stored values still need. A text that is no value now is left alone: the rename was done
 * before, or the database skipped the definition with that value. No record has the text.
 * @throws AppError `bad_request` for two values from the same value, and for a name that is a value now: records with
 * either text could not be told apart afterwards.
 */
function pendingRenames(
  old: FieldDefinition,
  field: FieldDefinition,
  asked: readonly ValueRename[] = [],
): readonly ValueRename[] {
  const { values = [] } = old;
  const pending = asked.filter(({ from, to }) => from !== to && values.includes(from));
  for (const { from, to } of pending) {
    const where = `field "${field.name}": "values":`;
    if (pending.some((other) => other.from === from && other.to !== to))
      throw new AppError("bad_request", `${where} two values have "renamedFrom": ${quote(from)}`);
    if (values.includes(to))
      throw new AppError("bad_request", `${where} ${quote(to)} is a value already, so ${quote(from)} cannot become it`);
  }
  return pending;
}

function compareField(
  old: FieldDefinition,
  field: FieldDefinition,
  { converted, renamedValues }: ParsedDefinition,
): PlanStep[] {
  const { name } = field;
  const mayWiden = old.type === "integer" && field.type === "float";
  const isWidened = mayWiden && converted?.has(name) === true;
  if (old.type !== field.type && !isWidened) {
    const advice = mayWiden ? '; "convertedFrom": "integer" in the field keeps the values' : "";
    throw new AppError(
      "bad_request",
      `field "${name}": its type cannot change from ${old.type} to ${field.type}; add a field with another name${advice}`,
    );
  }
  if (old.dimensions !== field.dimensions)
    throw new AppError(
      "bad_request",
      `field "${name}": its dimensions cannot change from ${old.dimensions} to ${field.dimensions}; add a field with another name`,
    );
  const steps: PlanStep[] = [];
  if (isWidened) steps.push({ step: "type", field: name, from: old.type, to: field.type });
  if (old.collection !== field.collection)
    steps.push({ step: "retarget", field: name, from: String(old.collection), to: String(field.collection) });
  if ((old.owner === true) !== (field.owner === true))
    steps.push({ step: "owner", field: name, on: field.owner === true });
  if (field.required === true && old.required !== true) steps.push({ step: "require", field: name });
  const takesOwner = field.owner === true && old.owner !== true;
  const { unique = false } = field;
  if ((old.unique ?? false) !== unique || (takesOwner && unique !== false))
    steps.push({ step: "unique", field: name, on: unique !== false, ...(unique === "nocase" && { to: unique }) });
  if (turns(old, field)) steps.push({ step: "multiple", field: name, on: field.multiple === true });
  const renamed = pendingRenames(old, field, renamedValues?.get(name));
  if (JSON.stringify(old.values) !== JSON.stringify(field.values))
    steps.push({ step: "values", field: name, ...(renamed.length > 0 && { renamed }) });
  for (const step of ["default", "onDelete"] as const)
    if (JSON.stringify(old[step]) !== JSON.stringify(field[step])) steps.push({ step, field: name });
  const loosened = old.required === true && field.required !== true;
  const isOther = ATTRIBUTE_NAMES.some((name) => ATTRIBUTES[name].isRule === true && old[name] !== field[name]);
  if (loosened || turns(old, field) || isOther)
    steps.push({ step: "rules", field: name, stricter: stricterRules(old, field) });
  if (JSON.stringify(old.permissions ?? null) !== JSON.stringify(field.permissions ?? null))
    steps.push({ step: "permissions", field: name });
  return steps;
}

/** The name that a field had before. */
export function originOf(plan: CollectionPlan, field: string): string {
  const rename = plan.steps.find((step) => step.step === "rename" && step.field === field);
  return rename?.step === "rename" ? rename.from : field;
}

/** The name that a field of the definition before has after a plan. */
export function successorOf(plan: CollectionPlan, field: string): string {
  const rename = plan.steps.find((step) => step.step === "rename" && step.from === field);
  return rename?.step === "rename" ? rename.field : field;
}

/** The values of a field that a plan renames. */
export function renamedValuesOf({ steps }: Pick<CollectionPlan, "steps">, field: string): readonly ValueRename[] {
  const values = steps.find((step) => step.step === "values" && step.field === field);
  return values?.step === "values" ? (values.renamed ?? []) : [];
}

/** The problems of indexes and searches by multiple fields, which have an index of the items and no words; as sentences. */
function multipleProblems({ fields, indexes = [], search = [] }: CollectionDefinition): string[] {
  const indexed = new Set(indexes.flatMap((index) => (Array.isArray(index) ? index : index.fields)));
  return fields
    .filter(({ multiple }) => multiple === true)
    .flatMap(({ name }) => {
      const problems: string[] = [];
      if (indexed.has(name))
        problems.push(`field "${name}" is multiple: its items have an index, and no other can contain it`);
      if (search.includes(name))
        problems.push(`field "${name}" is multiple and cannot be searched: filters find its items`);
      return problems;
    });
}

/** The problems of new fields that no filter could name. Fields of earlier versions stay. */
function literalProblems(before: CollectionDefinition | null, { fields }: CollectionDefinition): string[] {
  const old = new Set(before?.fields.map(({ name }) => name));
  return fields
    .filter(({ name }) => isLiteral(name) && !old.has(name))
    .map(({ name }) => `field "${name}": the name is a value in filters; choose another name`);
}

/** Whether other fields, or other words, are searched after a plan, or the fields in another order. */
export function isSearchChanged(plan: Pick<CollectionPlan, "before" | "after" | "steps">): boolean {
  const was = plan.before?.search ?? [];
  const added = new Set(plan.steps.flatMap((step) => (step.step === "add" ? [step.field] : [])));
  // A new field may have the name of a dropped field.
  const is = (plan.after.search ?? []).map((name) => (added.has(name) ? null : originOf(plan, name)));
  const isRestored = (name: string): boolean =>
    plan.steps.some((step) => step.step === "restore" && step.field === name);
  const hasOtherWords = (plan.after.search ?? []).some(
    (name) => renamedValuesOf(plan, name).length > 0 || isRestored(name),
  );
  return hasOtherWords || was.length !== is.length || was.some((name, i) => name !== is[i]);
}

/**
 * The indexes that go, and the indexes that come. A field that takes over the owner changes the values, so a unique index
 * of the field comes again.
 */
function compareIndexes(before: CollectionDefinition, after: CollectionDefinition, newName: NewName): PlanStep[] {
  const ownerOf = ({ fields }: CollectionDefinition) => fields.find((field) => field.owner === true)?.name;
  const [oldOwner, owner] = [ownerOf(before), ownerOf(after)];
  const takesOwner = owner !== undefined && (oldOwner === undefined || newName(oldOwner) !== owner);
  const keyOf = (fields: readonly (string | null)[], unique: boolean): string => JSON.stringify([fields, unique]);
  const old = new Map(indexesOf(before).map((index) => [keyOf(index.fields.map(newName), index.unique), index]));
  const steps: PlanStep[] = [];
  for (const { fields, unique } of indexesOf(after)) {
    const isKept = old.delete(keyOf(fields, unique));
    if (isKept && !(unique && takesOwner && fields.includes(owner))) continue;
    steps.push({ step: "index", fields: [...fields], unique, on: true });
  }
  const gone = [...old.values()].map(({ fields, unique }): PlanStep => {
    return { step: "index", fields: [...fields], unique, on: false };
  });
  return [...gone, ...steps];
}

/**
 * The steps from one definition to the next, in order: renames, drops, additions, rules, indexes.
 * @throws AppError `bad_request` for a change that no data could allow (a type change, an unclear rename).
 */
export function planMigration(before: CollectionDefinition | null, parsed: ParsedDefinition): CollectionPlan {
  const after = parsed.definition;
  const problems = [...multipleProblems(after), ...literalProblems(before, after)];
  if (problems.length > 0) throw new AppError("bad_request", problems.join("; "));
  if (before === null) return { before, after, steps: [{ step: "create" }] };
  const renames = findRenames(before, parsed);
  const newName = newNames(before, after, renames);
  const movedAway = new Set(renames.values());
  const continued = new Set<string>();
  const steps: PlanStep[] = [];
  const additions: PlanStep[] = [];
  const changes: PlanStep[] = [];
  for (const field of after.fields) {
    const from = renames.get(field.name) ?? field.name;
    const old = before.fields.find((candidate) => candidate.name === from);
    // A name that the old field has left starts afresh.
    if (old === undefined || (from === field.name && movedAway.has(from))) {
      const fill = fillOf(field);
      additions.push({ step: "add", field: field.name, ...(fill !== undefined && { default: fill }) });
      if (field.required === true && fill === undefined) changes.push({ step: "require", field: field.name });
      if (field.permissions !== undefined) changes.push({ step: "permissions", field: field.name });
      if (field.sequence !== undefined) changes.push({ step: "sequence", field: field.name, on: true });
      // Any other new field is empty, and empty values are always unique.
      if (isUnique(field) && field.owner === true) changes.push({ step: "unique", field: field.name, on: true });
      continue;
    }
    continued.add(old.name);
    if (from !== field.name) steps.push({ step: "rename", field: field.name, from });
    changes.push(...compareField(old, field, parsed));
    const oldSequence = Array.isArray(old.sequence) ? old.sequence.map(newName) : old.sequence;
    if (JSON.stringify(oldSequence) !== JSON.stringify(field.sequence))
      changes.push({ step: "sequence", field: field.name, on: field.sequence !== undefined });
  }
  for (const field of before.fields) if (!continued.has(field.name)) steps.push({ step: "drop", field: field.name });
  // Old values are checked before the owner column moves, and the owner column is handed over before another field takes
  // the column.
  const rank = (change: PlanStep): number => {
    if (change.step === "retarget") return 0;
    // A field turns single before the owner column takes the value, and turns multiple after the owner column has handed
    // the value over.
    if (change.step === "multiple") return change.on ? 3 : 1;
    return change.step === "owner" ? (change.on ? 2 : 1) : 3;
  };
  steps.push(...additions, ...changes.sort((a, b) => rank(a) - rank(b)), ...compareIndexes(before, after, newName));
  const rulesOf = ({ permissions, history }: CollectionDefinition): string => JSON.stringify([permissions, history]);
  if (rulesOf(before) !== rulesOf(after)) steps.push({ step: "permissions" });
  if (isSearchChanged({ before, after, steps })) steps.push({ step: "search", fields: [...(after.search ?? [])] });
  if (before.trash !== after.trash) steps.push({ step: "trash", ...(after.trash && { to: after.trash }) });
  if (steps.length === 0 && JSON.stringify(before) !== JSON.stringify(after)) steps.push({ step: "order" });
  if (parsed.restored !== undefined) steps.push({ step: "restore", ...parsed.restored });
  return { before, after, steps };
}
