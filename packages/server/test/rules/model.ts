/**
 * The model of rules: the parts of records that a caller gets, from the text of the rules alone. The model evaluates rules record by record,
 * shares no code with the service, and has no SQL, topics or caches.
 */
import type { Comparison, Condition, Literal, Path, Rule, Term, Value } from "./syntax.ts";
import { mentionsOf, textOfRule } from "./syntax.ts";

export interface ModelField {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "relation" | "file";
  /** The target of a relation. */
  readonly collection?: string;
  readonly multiple?: true;
  readonly read: Rule | null;
  readonly update: Rule | null;
}

type ModelOperation = "read" | "create" | "update" | "delete";

export interface ModelCollection {
  readonly name: string;
  readonly fields: readonly ModelField[];
  /** The fields whose words are searched; null for a collection without a search. */
  readonly search: readonly string[] | null;
  readonly rules: { readonly [operation in ModelOperation]: Rule };
}

/** A record in the answer to an admin. */
export interface ModelRecord {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly [field: string]: Value;
}

/** A stored file. */
export interface ModelFile {
  readonly id: string;
  readonly owner: string;
  readonly visibility: "public" | "record" | "protected";
}

/** A record and a file, as a text. */
export function pairOf(record: Value, file: string): string {
  return `${String(record)} ${file}`;
}

/** Records by collection, in the order of creation. */
export type Tables = ReadonlyMap<string, readonly ModelRecord[]>;

export interface ModelCaller {
  readonly name: string;
  /** Null for an anonymous caller. */
  readonly id: string | null;
  readonly isAdmin: boolean;
}

/** The name of the field that shows the owner, in every collection. */
export const ownerField = "o";

/** The name of the field that points to a file, in every collection. */
export const fileField = "f";

/** The names of the multiple fields of every collection: of users, of records and of files. */
export const [userItems, recordItems, fileItems] = ["us", "rs", "fs"] as const;

/** The standing of a caller to a rule: the rule allows every record, no record, or the records that fulfil the rule. */
type Standing = "all" | "none" | "some";

const systemFields = ["id", "createdAt", "updatedAt"];

export class Model {
  readonly #collections: ReadonlyMap<string, ModelCollection>;
  readonly tables: Tables;

  /** Pairs of a record and a file whose writer could not download the file: the record gives no right to the file. */
  readonly #unread: ReadonlySet<string>;

  constructor(collections: readonly ModelCollection[], tables: Tables, unread: ReadonlySet<string> = new Set()) {
    this.#collections = new Map(collections.map((each) => [each.name, each]));
    this.tables = tables;
    this.#unread = unread;
  }

  collection(name: string): ModelCollection {
    const found = this.#collections.get(name);
    if (found === undefined) throw new Error(`The model has no collection ${name}`);
    return found;
  }

  field(collection: string, name: string): ModelField | undefined {
    return this.collection(collection).fields.find((field) => field.name === name);
  }

  target = (collection: string, field: string): string => {
    const name = this.field(collection, field)?.collection;
    if (name === undefined) throw new Error(`${collection}.${field} is no relation`);
    return name;
  };

  records(collection: string): readonly ModelRecord[] {
    return this.tables.get(collection) ?? [];
  }

  record(collection: string, id: Value): ModelRecord | null {
    return this.records(collection).find((record) => record.id === id) ?? null;
  }

  /** The same model with a record in another state. */
  with(collection: string, record: ModelRecord): Model {
    const others = this.records(collection).filter(({ id }) => id !== record.id);
    return new Model(
      [...this.#collections.values()],
      new Map([...this.tables, [collection, [...others, record]]]),
      this.#unread,
    );
  }

  standing(rule: Rule, caller: ModelCaller): Standing {
    if (rule === "public" || caller.isAdmin) return "all";
    if (typeof rule !== "string") return "some";
    if (caller.id === null || rule === "admin") return "none";
    return rule === "owner" ? "some" : "all";
  }

  /** Whether a rule allows a caller, for a record that may differ from the record in the tables. */
  allows(rule: Rule, caller: ModelCaller, at: { collection: string; record: ModelRecord }): boolean {
    const standing = this.standing(rule, caller);
    if (standing !== "some") return standing === "all";
    if (typeof rule === "string") return caller.id !== null && at.record[ownerField] === caller.id;
    return this.#holds(rule, at, { caller, root: at, enters: () => true });
  }

  canRead(caller: ModelCaller, collection: string, record: ModelRecord): boolean {
    return this.allows(this.collection(collection).rules.read, caller, { collection, record });
  }

  /** Whether a filter of a caller holds: through relations the filter sees the records that the caller may read. */
  matches(filter: Condition, caller: ModelCaller, at: { collection: string; record: ModelRecord }): boolean {
    return this.#holds(filter, at, { caller, root: at, enters: (name, record) => this.canRead(caller, name, record) });
  }

  /** The value at the end of a path of a caller's query. */
  valueFor(path: Path, caller: ModelCaller, at: { collection: string; record: ModelRecord }): Literal {
    const [value = null] = this.valuesFor(path, caller, at);
    return value;
  }

  /** The values at the end of a path of a caller's query: see `#values`. */
  valuesFor(path: Path, caller: ModelCaller, at: { collection: string; record: ModelRecord }): Literal[] {
    return this.#values(path, at, { caller, root: at, enters: (name, record) => this.canRead(caller, name, record) });
  }

  /** The fields of a record that a caller may read. */
  visible(caller: ModelCaller, collection: string, record: ModelRecord): Set<string> {
    const { fields } = this.collection(collection);
    const open = fields.filter(({ read }) => read === null || this.allows(read, caller, { collection, record }));
    return new Set([...systemFields, ...open.map(({ name }) => name)]);
  }

  /** A record in the answer to a caller. */
  shown(caller: ModelCaller, collection: string, record: ModelRecord): object {
    return this.part(caller, { collection, only: null }, record);
  }

  /** A record in the answer to a caller, with only some fields. @param from.only the requested names; null for all names. */
  part(
    caller: ModelCaller,
    { collection, only }: { collection: string; only: ReadonlySet<string> | null },
    record: ModelRecord,
  ): object {
    const visible = this.visible(caller, collection, record);
    const entries = Object.entries(record).filter(([name]) => visible.has(name) && (only === null || only.has(name)));
    return Object.fromEntries(entries);
  }

  /** The records of a list, the newest first. */
  list(caller: ModelCaller, collection: string): ModelRecord[] {
    return this.records(collection)
      .filter((record) => this.canRead(caller, collection, record))
      .reverse();
  }

  /** Whether a caller may download a file: by its visibility, or by a record that points to the file in a field that the caller may read. */
  mayDownload(caller: ModelCaller, { id, owner, visibility }: ModelFile): boolean {
    if (visibility === "public" || caller.isAdmin || caller.id === owner) return true;
    if (visibility === "protected") return false;
    return [...this.#collections.values()].some(({ name }) =>
      this.list(caller, name).some((record) =>
        [fileField, fileItems].some(
          (field) =>
            itemsIn(record[field]).includes(id) &&
            !this.#unread.has(pairOf(record.id, id)) &&
            this.visible(caller, name, record).has(field),
        ),
      ),
    );
  }

  /** The status of a caller who may read no record of a collection; null for any other caller. */
  closedStatus(caller: ModelCaller, collection: string): number | null {
    if (this.standing(this.collection(collection).rules.read, caller) !== "none") return null;
    return caller.id === null ? 401 : 403;
  }

  /** The standing of a caller to the values of a field. */
  fieldStanding(caller: ModelCaller, collection: string, name: string): Standing {
    const read = this.field(collection, name)?.read ?? null;
    return read === null ? "all" : this.standing(read, caller);
  }

  /** The searched fields that a caller may read in every record: the search leaves the other fields out for this caller. */
  searchedBy(caller: ModelCaller, collection: string): string[] {
    const { search } = this.collection(collection);
    return (search ?? []).filter((field) => this.fieldStanding(caller, collection, field) === "all");
  }

  /** The statuses by which a filter of a caller may be refused; empty for an answered filter. */
  refusals(caller: ModelCaller, collection: string, filter: Condition): Set<number> {
    const { fields, entered } = mentionsOf(filter, collection, this.target);
    return this.#refusals(caller, fields, entered);
  }

  /** The same statuses for the paths of a sort, or of groups. */
  refusalsOfPaths(caller: ModelCaller, collection: string, paths: readonly Path[]): Set<number> {
    const parts = paths.map(
      (left): Comparison => ({ kind: "compare", left, operator: "=", right: { kind: "literal", value: null } }),
    );
    return this.refusals(caller, collection, { kind: "and", parts });
  }

  #refusals(
    caller: ModelCaller,
    fields: readonly { collection: string; field: string }[],
    entered: Iterable<string>,
  ): Set<number> {
    const statuses = new Set<number>();
    for (const { collection, field } of fields)
      if (this.fieldStanding(caller, collection, field) !== "all") statuses.add(400);
    for (const name of entered) {
      const status = this.closedStatus(caller, name);
      if (status !== null) statuses.add(status);
    }
    return statuses;
  }

  /** The value at the end of a path to a single value. */
  #value(path: Path, at: At, view: View): Literal {
    const [value = null] = this.#values(path, at, view);
    return value;
  }

  /** The values at the end of a path: a single value, or a value for each item of the multiple fields on the path. */
  #values({ ofRecord, hops, field }: Path, at: At, view: View): Literal[] {
    return this.#follow(hops, ofRecord === true ? view.root : at, view).flatMap((end): Literal[] => {
      if (end.record === null) return this.field(end.collection, field)?.multiple === true ? [] : [null];
      return itemsIn(end.record[field]);
    });
  }

  /** Whether a path ends at a multiple field. */
  #endsAtItems({ ofRecord, hops, field }: Path, collection: string, view: View): boolean {
    const start = ofRecord === true ? view.root.collection : collection;
    const end = hops.reduce((at, hop) => this.target(at, hop), start);
    return this.field(end, field)?.multiple === true;
  }

  /** The records at the end of relations; null for a record that is absent or hidden. */
  #follow(hops: readonly string[], at: At, { enters }: View): End[] {
    let ends: End[] = [at];
    for (const hop of hops)
      ends = ends.flatMap(({ collection, record }) => {
        const next = this.target(collection, hop);
        // Without a record, a multiple relation has no items.
        const none = this.field(collection, hop)?.multiple === true ? [] : [null];
        const ids = record === null ? none : itemsIn(record[hop]);
        return ids.map((id): End => {
          const found = this.record(next, id);
          return { collection: next, record: found !== null && enters(next, found) ? found : null };
        });
      });
    return ends;
  }

  #holds(condition: Condition, at: At, view: View): boolean {
    switch (condition.kind) {
      case "and":
        return condition.parts.every((part) => this.#holds(part, at, view));
      case "or":
        return condition.parts.some((part) => this.#holds(part, at, view));
      case "not":
        return !this.#holds(condition.part, at, view);
      case "compare":
        return this.#compares(condition, { inner: at, outer: at }, view);
      case "in":
        return this.#values(condition.left, at, view).some((value) => condition.values.includes(value));
      case "named":
        return this.#named(condition, at, view).some((each) => this.#holds(condition.where, each, view));
      case "backward":
        return this.#pointing(condition, at, view).some(
          (inner) => condition.tail === null || this.#compares(condition.tail, { inner, outer: at }, view),
        );
      case "every": {
        const { of, check } = condition;
        const found = of.kind === "named" ? this.#named(of, at, view) : this.#pointing(of, at, view);
        const filtered = found.filter((each) => of.where === null || this.#holds(of.where, each, view));
        return filtered.every((each) => this.#holds(check, each, view));
      }
    }
  }

  /** The readable records that the items of a multiple relation name. */
  #named({ hops, field }: { hops: readonly string[]; field: string }, at: At, view: View): At[] {
    const ends = this.#follow([...hops, field], at, view);
    return ends.flatMap(({ collection, record }) => (record === null ? [] : [{ collection, record }]));
  }

  /** The readable records that point to the end of a way, and fulfil `where`. */
  #pointing(
    step: { hops: readonly string[]; collection: string; pointer: string; where: Condition | null },
    at: At,
    view: View,
  ): At[] {
    const { collection, where } = step;
    const [end] = this.#follow(step.hops, at, view);
    const id = end?.record?.id;
    if (id === undefined) return [];
    return this.records(collection)
      .filter((record) => itemsIn(record[step.pointer]).includes(id) && view.enters(collection, record))
      .map((record) => ({ collection, record }))
      .filter((each) => where === null || this.#holds(where, each, view));
  }

  /** @param at.inner the begin of the left side. @param at.outer the begin of the right side. */
  #compares({ left, operator, right }: Omit<Comparison, "kind">, at: { inner: At; outer: At }, view: View): boolean {
    const values = this.#values(left, at.inner, view);
    const wanted = this.#term(right, at.outer, view);
    const isEmpty = wanted === null && right.kind === "literal" && this.#endsAtItems(left, at.inner.collection, view);
    const holds = (value: Literal): boolean => {
      switch (operator) {
        case "=":
        case "!=":
          return isEqual(value, wanted, right);
        case "~":
          return (
            typeof value === "string" &&
            typeof wanted === "string" &&
            value.toLowerCase().includes(wanted.toLowerCase())
          );
        case "<":
          return value !== null && wanted !== null && value < wanted;
        case ">=":
          return value !== null && wanted !== null && value >= wanted;
      }
    };
    // For several values, `!=` means that no value is equal.
    const isSome = isEmpty ? values.length === 0 : values.some(holds);
    return operator === "!=" ? !isSome : isSome;
  }

  #term(term: Term, at: At, view: View): Literal {
    if (term.kind === "caller") return view.caller.id;
    return term.kind === "literal" ? term.value : this.#value(term.path, at, view);
  }

  /** The definitions that the service gets. */
  definitions(): object[] {
    return [...this.#collections.values()].map(({ name, fields, search, rules }) => ({
      name,
      ...(search !== null && { search }),
      fields: fields.map(({ read, update, ...field }) => {
        const permissions = {
          ...(read !== null && { read: textOfRule(read) }),
          ...(update !== null && { update: textOfRule(update) }),
        };
        return {
          ...field,
          ...(field.name === ownerField && { owner: true }),
          ...(Object.keys(permissions).length > 0 && { permissions }),
        };
      }),
      permissions: Object.fromEntries(Object.entries(rules).map(([operation, rule]) => [operation, textOfRule(rule)])),
    }));
  }
}

interface At {
  readonly collection: string;
  readonly record: ModelRecord;
}

/** The end of relations; null for no record. */
interface End {
  readonly collection: string;
  readonly record: ModelRecord | null;
}

/** The items of a multiple field, or the value of a single field. */
export function itemsIn(value: Value | undefined): Literal[] {
  return [value ?? null].flat();
}

interface View {
  readonly caller: ModelCaller;
  /** The record that the whole condition is about. */
  readonly root: At;
  enters(collection: string, record: ModelRecord): boolean;
}

/** Null equals the word null and a field without a value; an anonymous caller equals no value. */
function isEqual(value: Literal, wanted: Literal, right: Term): boolean {
  return value === wanted && (value !== null || right.kind !== "caller");
}
