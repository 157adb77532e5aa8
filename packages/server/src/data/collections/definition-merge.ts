/**
 * Merge of a definition file: what has changed in the file since the file was applied goes on top of the definition of the
 * database, and what only the database has stays. The units are an attribute of a field, the rule of an operation with
 * inheritance filled in, an index, and any other key of the collection. Where both have changed a unit, the file wins.
 *
 * Without the former text of the file, what the database lacks is added, and everything that the database has stays.
 */
import {
  type CollectionDefinition,
  FIELD_OPERATIONS,
  type FieldDefinition,
  type IndexDefinition,
  isAccountField,
  OPERATIONS,
  RECORD_TIMES,
  type Rule,
  USERS,
} from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import type { ParsedDefinition, ValueRename } from "./plan.ts";
import { type RuleSite, ruleAt, withRule } from "./rules.ts";

export interface MergeInput {
  readonly file: ParsedDefinition;
  /** The file as applied last; null if the text was not kept. */
  readonly base: ParsedDefinition | null;
  /** The definition of the database. */
  readonly now: CollectionDefinition;
  /** The name of the merged definition. */
  readonly name: string;
}

/** The merged definition, as JSON to be parsed, and the renames that are still to be done. */
export interface Merged extends Omit<ParsedDefinition, "definition"> {
  readonly definition: object;
  /** The units, in words, of which the file replaces the value that the database has. */
  readonly replaced: readonly string[];
  /** The units, in words, in which the database differs from the file, and stays. */
  readonly kept: readonly string[];
}

/** The units of a definition, in words, with the values. A rule that is `public` is no value. */
type Units = Map<string, unknown>;

/** Keys that have units of another kind. */
const parts = ["name", "fields", "permissions", "indexes"];

function isSame(a: unknown, b: unknown): boolean {
  return Bun.deepEquals(a, b, true);
}

function isIn({ fields }: CollectionDefinition, name: string): boolean {
  return fields.some((field) => field.name === name);
}

function fieldUnit(field: string): string {
  return `the field "${field}"`;
}

/** @param field null for a key of the collection. */
function attributeUnit(field: string | null, key: string): string {
  return field === null ? `"${key}"` : `"${key}" of ${fieldUnit(field)}`;
}

function ruleUnit({ field, operation }: RuleSite): string {
  return `the rule ${attributeUnit(field, operation)}`;
}

function indexUnit(index: IndexDefinition): string {
  return `the index ${fieldsOf(index).join(", ")}`;
}

function fieldsOf(index: IndexDefinition): string[] {
  return Array.isArray(index) ? index : index.fields;
}

/** The rules that a definition may give to a field, or to the collection (null). */
function sitesOf(collection: string, field: string | null): RuleSite[] {
  // Accounts are created and deleted by no rule, and nobody writes the fields of an account.
  if (field === null)
    return (collection === USERS ? FIELD_OPERATIONS : OPERATIONS).map((operation) => ({ field, operation }));
  const operations = isAccountField(collection, field) ? (["read"] as const) : FIELD_OPERATIONS;
  return operations.map((operation) => ({ field, operation }));
}

function unitsOf(definition: CollectionDefinition): Units {
  const units: Units = new Map();
  const add = (field: string | null, part: object): void => {
    for (const [key, value] of Object.entries(part)) {
      // Such a value means the same as no attribute.
      const isNone = value === null || (value === false && key !== "default");
      if (!isNone && !parts.includes(key)) units.set(attributeUnit(field, key), value);
    }
    for (const site of sitesOf(definition.name, field)) {
      const rule = ruleAt(definition, site);
      if (rule !== "public") units.set(ruleUnit(site), rule);
    }
  };
  add(null, definition);
  for (const index of definition.indexes ?? []) units.set(indexUnit(index), index);
  for (const field of definition.fields) {
    units.set(fieldUnit(field.name), field.name);
    add(field.name, field);
  }
  return units;
}

/** The names of `first`, with each other name of `second` behind the name before. */
function interleave(first: readonly string[], second: readonly string[]): string[] {
  const names = [...first];
  for (const [i, name] of second.entries())
    if (!names.includes(name)) names.splice(names.indexOf(second[i - 1] ?? "") + 1, 0, name);
  return names;
}

/** A definition after renames of fields. A field gives way to a field that takes the name. */
function renamed(definition: CollectionDefinition, renames: ReadonlyMap<string, string>): CollectionDefinition {
  const names = new Map([...renames].flatMap(([to, from]) => (isIn(definition, from) ? [[from, to]] : [])));
  const taken = new Set(names.values());
  const nameOf = (name: string): string => names.get(name) ?? name;
  const { fields, indexes, search, ...others } = definition;
  return {
    ...others,
    fields: fields
      .filter(({ name }) => names.has(name) || !taken.has(name))
      .map(({ name, sequence, ...field }) => ({
        name: nameOf(name),
        ...field,
        ...(sequence !== undefined && { sequence: sequence === true ? sequence : sequence.map(nameOf) }),
      })),
    ...(indexes && {
      indexes: indexes.map((index) =>
        Array.isArray(index) ? index.map(nameOf) : { ...index, fields: index.fields.map(nameOf) },
      ),
    }),
    ...(search && { search: search.map(nameOf) }),
  };
}

/** The renames of fields that a file asks for, and that were not done before. */
function pendingRenames({ file, base, now }: MergeInput): Map<string, string> {
  const pending = new Map<string, string>();
  for (const [to, from] of file.renamedFrom) {
    const isDone = base === null ? isIn(now, to) : base.renamedFrom.get(to) === from;
    if (from !== null && !isDone) pending.set(to, from);
  }
  return pending;
}

function pendingValues({ file, base, now }: MergeInput): Map<string, readonly ValueRename[]> {
  const pending = new Map<string, readonly ValueRename[]>();
  for (const [name, renames] of file.renamedValues ?? []) {
    const done = base?.renamedValues?.get(name) ?? [];
    const values = now.fields.find((field) => field.name === name)?.values ?? [];
    const isDone = (rename: ValueRename): boolean =>
      base === null ? values.includes(rename.to) : done.some((each) => isSame(each, rename));
    pending.set(
      name,
      renames.filter((rename) => !isDone(rename)),
    );
  }
  return pending;
}

/** The names of all fields: in the order of the file if the file has changed the order, or else of the database. */
function namesOf(base: CollectionDefinition, file: CollectionDefinition, now: CollectionDefinition): string[] {
  const names = ({ fields }: CollectionDefinition): string[] => fields.map(({ name }) => name);
  const common = (one: string[], other: string[]): string[] => one.filter((name) => other.includes(name));
  const [before, asked, present] = [names(base), names(file), names(now)];
  const isOrdered = isSame(common(before, asked), common(asked, before));
  return isOrdered ? interleave(present, asked) : interleave(asked, present);
}

/** The units without the parts of fields that are units as a whole. */
function withoutParts(units: readonly string[]): string[] {
  const fields = units.filter((unit) => unit.startsWith("the field "));
  return units.filter((unit) => !fields.some((field) => unit.endsWith(` of ${field}`)));
}

/** @throws AppError `bad_request` for rules that no definition can name. */
export function mergeDefinition(input: MergeInput): Merged {
  const { base, name } = input;
  const file = input.file.definition;
  const pending = pendingRenames(input);
  const former = base && renamed(base.definition, pending);
  const stored = renamed(input.now, pending);
  // A field that was dropped in the database comes back whole when the file changes the field.
  const alone = (field: FieldDefinition): Units => unitsOf({ name, fields: [field] });
  const returning = file.fields.filter((field) => {
    const old = former?.fields.find((each) => each.name === field.name);
    return old !== undefined && !isIn(stored, field.name) && !isSame(alone(old), alone(field));
  });
  const now = { ...stored, fields: [...stored.fields, ...returning] };
  const replaced = returning.map((field) => fieldUnit(field.name));
  const kept: string[] = [];

  const [before, asked, present] = [former && unitsOf(former), unitsOf(file), unitsOf(now)];
  const merged: Units = new Map();
  for (const unit of new Set([...present.keys(), ...asked.keys()])) {
    const [was, wanted, is] = [before?.get(unit), asked.get(unit), present.get(unit)];
    const isEqual = isSame(wanted, is);
    const takesFile = !isEqual && (before === null ? is === undefined : !isSame(wanted, was));
    if (takesFile && !isSame(is, was)) replaced.push(unit);
    if (before === null && !isEqual && !takesFile) kept.push(unit);
    merged.set(unit, takesFile ? wanted : is);
  }

  const attributes = (field: string | null): object => {
    const sources = [now, file].map((each) => (field === null ? each : each.fields.find((one) => one.name === field)));
    const keys = new Set(sources.flatMap((source) => Object.keys(source ?? {})));
    return Object.fromEntries([...keys].map((key) => [key, merged.get(attributeUnit(field, key))]));
  };
  const rules = (field: string | null): CollectionDefinition["permissions"] => {
    const rule = (site: RuleSite): Rule => String(merged.get(ruleUnit(site)) ?? "public");
    const sites = sitesOf(name, field);
    // Some rules in force cannot be named, and follow from other rules alone.
    const bare: CollectionDefinition = { name, fields: field === null ? [] : [{ name: field, type: "string" }] };
    const named = Array.from({ length: 2 ** sites.length }, (_, omitted) =>
      sites.filter((_site, i) => ((omitted >> i) & 1) === 0).reduce((to, site) => withRule(to, site, rule(site)), bare),
    );
    const source = [now, file, ...named].find((each) => sites.every((site) => ruleAt(each, site) === rule(site)));
    if (source === undefined)
      throw new AppError(
        "bad_request",
        `the rules of the file and of the database cannot be combined; name the rule of each operation in the file`,
      );
    return (field === null ? source : source.fields.find((each) => each.name === field))?.permissions;
  };
  const names = namesOf(former ?? stored, file, stored).filter((each) => merged.get(fieldUnit(each)) !== undefined);
  const isThere = (field: string): boolean => names.includes(field) || RECORD_TIMES.some((time) => time === field);
  const all = [...(now.indexes ?? []), ...(file.indexes ?? [])];
  const indexes = all.filter((index) => merged.get(indexUnit(index)) === index);
  const lost = indexes.filter((index) => !fieldsOf(index).every(isThere));
  const { search = [] } = [now, file].find((each) => each.search === merged.get(attributeUnit(null, "search"))) ?? {};
  if (!search.every(isThere)) replaced.push("the search");
  replaced.push(...lost.map(indexUnit));
  return {
    definition: {
      ...attributes(null),
      name,
      permissions: rules(null),
      fields: names.map((field) => ({ ...attributes(field), name: field, permissions: rules(field) })),
      indexes: indexes.filter((index) => !lost.includes(index)),
      search: search.filter(isThere),
    },
    // A field that was dropped in the database cannot be renamed any more.
    renamedFrom: new Map(
      [...pending].filter(([, from]) => isIn(input.now, from) || (base !== null && !isIn(base.definition, from))),
    ),
    renamedValues: pendingValues(input),
    replaced: withoutParts(replaced),
    kept: withoutParts(kept),
  };
}
