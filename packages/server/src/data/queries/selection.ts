/** The parameters `fields` and `expand`: the fields of a record that are answered, and the records beside the record. */

import type { FieldDefinition } from "@socle/protocol";
import { isName } from "@socle/protocol/filter";
import { type AppError, quote } from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import { itemTableName } from "../collections/index.ts";
import { hintFor, type SqlOptions, toSql } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { recordTableOf } from "../records/index.ts";
import type { ExpansionPlan, PointerPlan, SelectionPlan } from "./plan.ts";
import { partsOf, type QueryText, refuseParameter } from "./query-text.ts";
import type { ReadScope } from "./read-scope.ts";
import { columnsSql, decodedFields, type Source, userSource } from "./read-scope.ts";

/** How deep a path may lead, through relations in either direction. */
const maxDepth = 3;
const systemNames = ["id", "createdAt", "updatedAt"];
/** Paths that a request may name. */
const maxPaths = { fields: 200, expand: 20 } as const;

/** Records that are answered beside a record under `expand`. */
interface Expansion {
  /** The name in the query, and in the answer. */
  readonly name: string;
  /** Whether records of the other collection point here. */
  readonly isBackward: boolean;
  /** The field that holds the id: of this record, or backward of the other records. */
  readonly field: string;
  readonly selection: Selection;
}

/** The fields of a record that are answered, and the records beside it. */
class Selection {
  readonly source: Source;
  readonly expansions: Expansion[] = [];
  /** The fields of the query, each with the paths into its JSON; null for all fields. */
  #fields: Map<string, string[][] | null> | null = null;
  readonly #pointer: string | null;

  /** @param pointer of a backward path: the field by which records of the source point back. */
  constructor(source: Source, pointer: string | null = null) {
    this.source = source;
    this.#pointer = pointer;
  }

  /** Whether a record has several records beside it: by a backward path, or by a multiple field. */
  get leadsToMany(): boolean {
    return this.expansions.some(
      ({ isBackward, field, selection }) =>
        isBackward || this.source.field(field)?.multiple === true || selection.leadsToMany,
    );
  }

  /** Whether the database must look at each record to know which of its fields are answered. */
  get isGuarded(): boolean {
    return (
      [...this.source.conditional.keys()].some((name) => this.#isRead(name)) ||
      this.expansions.some(({ selection }) => selection.isGuarded)
    );
  }

  /** Whether the names of its fields are hidden from the caller, too. The fields of users are known. */
  get isHidden(): boolean {
    return this.source.decision.access === "none" && this.source.name !== "users";
  }

  /** From now on only fields that were asked for are answered. */
  narrow(): void {
    this.#fields ??= new Map();
  }

  /** @param members a path into JSON; without any, the whole field is answered. */
  ask(name: string, members: readonly string[]): void {
    this.narrow();
    const paths = this.#fields?.get(name);
    if (members.length === 0 || paths === null) this.#fields?.set(name, null);
    else this.#fields?.set(name, [...(paths ?? []), [...members]]);
  }

  askAll(): void {
    for (const name of this.source.names) this.ask(name, []);
  }

  /** @param options see `toSql`. */
  plan(options: SqlOptions): SelectionPlan {
    const { source } = this;
    const fields = this.#fields;
    // The answered fields, the id, and the fields by which relations are followed.
    const names = source.names.filter((name) => this.#isRead(name));
    return {
      table: source.table,
      ...columnsSql(source, names, options),
      decoded: decodedFields(source, names),
      answered:
        fields === null
          ? null
          : source.names.filter((name) => fields.has(name)).map((name) => [name, fields.get(name) ?? null] as const),
      expansions: this.expansions.map((expansion) => expansionPlan(expansion, options)),
    };
  }

  #isRead(name: string): boolean {
    return (
      name === "id" ||
      name === this.#pointer ||
      this.#fields === null ||
      this.#fields.has(name) ||
      this.expansions.some((expansion) => !expansion.isBackward && expansion.field === name)
    );
  }
}

function pointerOf(source: Source, field: string): PointerPlan {
  const isMultiple = source.field(field)?.multiple === true;
  const items = isMultiple ? identifier(itemTableName(source.name, field)) : null;
  return { column: source.column(field), items };
}

function expansionPlan({ name, isBackward, field, selection }: Expansion, options: SqlOptions): ExpansionPlan {
  const { source } = selection;
  if (source.decision.access === "none") return { name, field, target: null };
  const { condition } = source;
  const target = {
    name: source.name,
    selection: selection.plan(options),
    pointer: isBackward ? pointerOf(source, field) : null,
    condition: condition === null ? null : toSql(condition, source.table, options),
  };
  return { name, field, target };
}

/** A step to the records of a collection whose field points here: `comments(post)`. */
interface BackwardStep {
  readonly name: string;
  readonly collectionName: string;
  readonly fieldName: string;
}

function backwardStep(name: string): BackwardStep | null {
  const [, collectionName, fieldName] = /^([A-Za-z][A-Za-z0-9_]*)\(([A-Za-z][A-Za-z0-9_]*)\)$/.exec(name) ?? [];
  return collectionName === undefined || fieldName === undefined ? null : { name, collectionName, fieldName };
}

/** Reads `fields` and `expand`. */
class SelectionParser {
  readonly #scope: ReadScope;
  readonly #parameter: "fields" | "expand";

  constructor(scope: ReadScope, parameter: "fields" | "expand") {
    this.#scope = scope;
    this.#parameter = parameter;
  }

  paths(text: string): string[] {
    return partsOf(text, this.#parameter, { most: maxPaths[this.#parameter], kind: "paths" });
  }

  field(root: Selection, path: string): void {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let at = root;
    for (const [i, name] of names.entries()) {
      const field = at.source.field(name);
      if (field !== null && typeOf(field).valueType === "json") {
        const members = [...names.slice(i + 1), last];
        const odd = members.find((member) => !isName(member));
        if (odd !== undefined)
          throw refuseParameter(this.#parameter, `${quote(path)} is no path: ${quote(odd)} is no name`);
        at.ask(name, members);
        return;
      }
      at = this.#expansion(at, name, { depth: i + 1, path });
      at.narrow();
    }
    // An error about a collection that the caller may not read does not name its fields.
    if (at.isHidden) return;
    if (last === "*") at.askAll();
    else if (at.source.names.includes(last)) at.ask(last, []);
    else throw this.#records(at, last, path) ?? this.#unknown(at, last);
  }

  expand(root: Selection, path: string): void {
    let at = root;
    for (const [i, name] of path.split(".").entries()) {
      if (at !== root && at.isHidden) return;
      at = this.#expansion(at, name, { depth: i + 1, path });
    }
  }

  /** The selection that a step of a path leads to. */
  #expansion(from: Selection, name: string, { depth, path }: { depth: number; path: string }): Selection {
    if (from.source.names.includes("expand"))
      throw refuseParameter(
        this.#parameter,
        `"${from.source.name}" has a field "expand" itself, where expansions would stand`,
      );
    if (depth > maxDepth)
      throw refuseParameter(this.#parameter, `${quote(path)} leads more than ${maxDepth} relations deep`);
    const known = from.expansions.find((expansion) => expansion.name === name);
    if (known !== undefined) return known.selection;
    const step = backwardStep(name);
    const expansion = step === null ? this.#forward(from, name) : this.#backward(from, step);
    from.expansions.push(expansion);
    return expansion.selection;
  }

  #forward(from: Selection, name: string): Expansion {
    const field = from.source.field(name);
    if (field === null) {
      if (from.source.names.includes(name)) throw this.#noRelation(name);
      throw this.#pointingHere(from, name) ?? this.#unknown(from, name);
    }
    if (typeOf(field).reference !== "record") throw this.#noRelation(name);
    return { name, isBackward: false, field: name, selection: new Selection(this.#target(field)) };
  }

  /** The records that a relation leads to. */
  #target({ name, collection = "" }: FieldDefinition): Source {
    const { collections } = this.#scope;
    if (collection === "users") return userSource(collections.users, this.#scope.enterUsers());
    const target = collections.get(collection);
    // Definitions whose relations lead nowhere are refused.
    if (target === undefined) throw new Error(`The relation ${name} leads nowhere`);
    return this.#scope.source(target);
  }

  #backward(from: Selection, { name, collectionName, fieldName }: BackwardStep): Expansion {
    const target = from.source.name;
    const collection = this.#scope.collections.get(collectionName);
    const fields = collection === undefined ? [] : recordTableOf(collection).fields;
    const closed = this.#scope.closed(collectionName);
    const pointing = fields.filter(
      (field) => typeOf(field).reference === "record" && field.collection === target && !closed.has(field.name),
    );
    if (collection !== undefined && pointing.some((field) => field.name === fieldName)) {
      const source = this.#scope.source(collection);
      return { name, isBackward: true, field: fieldName, selection: new Selection(source, fieldName) };
    }
    if (collection === undefined || !this.#scope.canRead(collection)) {
      const readable = this.#scope.readable().map((each) => each.name);
      const hint = hintFor(collectionName, readable);
      throw refuseParameter(this.#parameter, `there is no ${quote(name)} that points to "${target}"${hint}`);
    }
    const hint =
      pointing.length === 0
        ? `no field of "${collectionName}" points to "${target}"`
        : `it has ${pointing.map((one) => `${collectionName}(${one.name})`).join(", ")}`;
    throw refuseParameter(this.#parameter, `${quote(name)} does not point to "${target}"; ${hint}`);
  }

  /** The hint for the name of a collection whose records point here. */
  #pointingHere(from: Selection, name: string): AppError | null {
    const collection = this.#scope.collections.get(name);
    if (collection === undefined || !this.#scope.canRead(collection)) return null;
    const closed = this.#scope.closed(name);
    const field = recordTableOf(collection).fields.find(
      (candidate) => candidate.collection === from.source.name && !closed.has(candidate.name),
    );
    if (field === undefined) return null;
    return refuseParameter(this.#parameter, `${quote(name)} is no field; did you mean "${name}(${field.name})"?`);
  }

  /** The error for a path of `fields` that ends with records in place of a field. */
  #records(from: Selection, name: string, path: string): AppError | null {
    const step = backwardStep(name);
    if (step === null) return this.#pointingHere(from, name);
    const { names } = this.#backward(from, step).selection.source;
    const field = names.find((each) => !systemNames.includes(each)) ?? "*";
    const hint = `name a field of theirs, such as "${path}.${field}", or "${path}.*"`;
    return refuseParameter(this.#parameter, `${quote(path)} stands for records; ${hint}`);
  }

  #noRelation(name: string): AppError {
    const hint = 'name a relation, or as in "comments(post)" a collection and its field that points here';
    return refuseParameter(this.#parameter, `${quote(name)} is no relation; ${hint}`);
  }

  #unknown(at: Selection, name: string): AppError {
    const hint = hintFor(name, at.source.names);
    return refuseParameter(this.#parameter, `"${at.source.name}" has no field ${quote(name)}${hint}`);
  }
}

/** The part of the records that a query answers, as a plan. */
export interface Selected {
  readonly plan: SelectionPlan;
  /** See `Selection`. */
  readonly leadsToMany: boolean;
  readonly isGuarded: boolean;
}

/**
 * Reads the parameters against a source.
 * @throws AppError `bad_request` for a path that leads nowhere or too deep.
 */
export function parseSelection(source: Source, text: Pick<QueryText, "fields" | "expand">, scope: ReadScope): Selected {
  const selection = new Selection(source);
  if (text.expand !== undefined) {
    const parser = new SelectionParser(scope, "expand");
    for (const path of parser.paths(text.expand)) parser.expand(selection, path);
  }
  if (text.fields !== undefined) {
    const parser = new SelectionParser(scope, "fields");
    selection.narrow();
    for (const path of parser.paths(text.fields)) parser.field(selection, path);
  }
  const { leadsToMany, isGuarded } = selection;
  // On the event loop, too: the rules of expansions may look at many records.
  return { plan: selection.plan({ isProbed: true, users: scope.collections.users.table }), leadsToMany, isGuarded };
}
