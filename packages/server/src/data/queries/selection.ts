/** The parameters `fields` and `expand`: the fields of a record that are answered, and the records beside the record. */

import type { FieldDefinition } from "@socle/protocol";
import { isName } from "@socle/protocol/filter";
import { type AppError, quote } from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import { type Collection, itemTableName } from "../collections/index.ts";
import { hintFor, toSql } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { recordTableOf } from "../records/index.ts";
import type { ExpansionPlan, PointerPlan, SelectionPlan } from "./plan.ts";
import { partsOf, type QueryText, refuseParameter } from "./query-text.ts";
import { type ReadScope, readingOf, type Source } from "./read-scope.ts";

/** How deep a path may lead, through relations in either direction. */
const maxDepth = 3;
/** Paths that a request may name. */
const maxPaths = { fields: 200, expand: 20 } as const;

/** The fields of a record that are answered, and the records beside this record. */
class Selection {
  readonly source: Source;
  /** Of a backward path, the field by which records of the source point back; null for any other selection. */
  readonly pointer: string | null;
  /** The records that are answered beside a record under `expand`, by the names in the query and in the answer. */
  readonly expansions = new Map<string, Selection>();
  /** The fields of the query, with the paths into the JSON; null for all fields. */
  #fields: Map<string, string[][] | null> | null = null;

  constructor(source: Source, pointer: string | null = null) {
    this.source = source;
    this.pointer = pointer;
  }

  /** See `Source`. */
  get hidesNames(): boolean {
    return this.source.hidesNames;
  }

  /** From now on only fields that were asked for are answered. */
  narrow(): Map<string, string[][] | null> {
    this.#fields ??= new Map();
    return this.#fields;
  }

  /** @param members a path into JSON; without any, the whole field is answered. */
  ask(name: string, members: string[]): void {
    const fields = this.narrow();
    const paths = fields.get(name);
    fields.set(name, members.length === 0 || paths === null ? null : [...(paths ?? []), members]);
  }

  askAll(): void {
    for (const name of this.source.names) this.ask(name, []);
  }

  /** @param users see `SqlOptions`. */
  plan(users: string): SelectionPlan {
    const { source } = this;
    const fields = this.#fields;
    // The answered fields, the id, and the fields by which relations are followed.
    const names = source.names.filter((name) => this.#isRead(name));
    const answered = source.names.flatMap((name) => {
      const paths = fields?.get(name);
      return paths === undefined ? [] : [[name, paths] as const];
    });
    return {
      ...readingOf(source, names, users),
      answered: fields === null ? null : answered,
      expansions: [...this.expansions].map(([name, selection]) => selection.#expansionPlan(name, users)),
    };
  }

  #expansionPlan(name: string, users: string): ExpansionPlan {
    const { condition, decision, name: collection, newestFirst, table } = this.source;
    const field = this.pointer ?? name;
    if (decision.access === "none") return { name, field, target: null };
    const target = {
      name: collection,
      newestFirst,
      selection: this.plan(users),
      pointer: this.pointer === null ? null : pointerOf(this.source, this.pointer),
      condition: condition === null ? null : toSql(condition, table, { isProbed: true, users }),
    };
    return { name, field, target };
  }

  #isRead(name: string): boolean {
    const isAnswered = this.#fields === null || this.#fields.has(name);
    return isAnswered || name === "id" || name === this.pointer || this.expansions.has(name);
  }
}

function pointerOf(source: Source, field: string): PointerPlan {
  const isMultiple = source.field(field)?.multiple === true;
  const items = isMultiple ? identifier(itemTableName(source.name, field)) : null;
  return { column: source.column(field), items };
}

/** A step to the records of a collection whose field points here: `comments(post)`. */
const backwardStep = /^([A-Za-z][A-Za-z0-9_]*)\(([A-Za-z][A-Za-z0-9_]*)\)$/;

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
    // An error about a collection that the caller may not read does not name the fields.
    if (at.hidesNames) return;
    if (last === "*") at.askAll();
    else if (at.source.names.includes(last)) at.ask(last, []);
    else throw this.#records(at, last, path) ?? this.#unknown(at, last);
  }

  expand(root: Selection, path: string): void {
    let at = root;
    for (const [i, name] of path.split(".").entries()) {
      if (at !== root && at.hidesNames) return;
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
    return from.expansions.getOrInsertComputed(name, () => this.#backward(from, name) ?? this.#forward(from, name));
  }

  #forward(from: Selection, name: string): Selection {
    const field = from.source.field(name);
    if (field === null) {
      if (from.source.names.includes(name)) throw this.#noRelation(name);
      throw this.#pointingHere(from, name) ?? this.#unknown(from, name);
    }
    if (typeOf(field).reference !== "record") throw this.#noRelation(name);
    return new Selection(this.#scope.target(field.collection ?? ""));
  }

  /** Null for a name that is no backward step. */
  #backward(from: Selection, name: string): Selection | null {
    const [, collectionName, fieldName] = backwardStep.exec(name) ?? [];
    if (collectionName === undefined) return null;
    const target = from.source.name;
    const collection = this.#scope.collections.get(collectionName);
    const pointing = collection === undefined ? [] : this.#pointing(collection, target);
    if (collection !== undefined && pointing.some((field) => field.name === fieldName))
      return new Selection(this.#scope.source(collection), fieldName);
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

  /** The relations of a collection that lead to a target and may be followed. */
  #pointing(collection: Collection, target: string): FieldDefinition[] {
    const closed = this.#scope.closed(collection.name);
    const fields = recordTableOf(collection).fields.filter((field) => typeOf(field).reference === "record");
    return fields.filter((field) => field.collection === target && !closed.has(field.name));
  }

  /** The hint for the name of a collection with records that point here. */
  #pointingHere(from: Selection, name: string): AppError | null {
    const collection = this.#scope.collections.get(name);
    if (collection === undefined || !this.#scope.canRead(collection)) return null;
    const [field] = this.#pointing(collection, from.source.name);
    if (field === undefined) return null;
    return refuseParameter(this.#parameter, `${quote(name)} is no field; did you mean "${name}(${field.name})"?`);
  }

  /** The error for a path of `fields` that ends with records in place of a field. */
  #records(from: Selection, name: string, path: string): AppError | null {
    const records = this.#backward(from, name);
    if (records === null) return this.#pointingHere(from, name);
    const field = records.source.names.find((each) => records.source.field(each) !== null) ?? "*";
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

/** @throws AppError `bad_request` for a path that leads nowhere or too deep. */
export function parseSelection(
  source: Source,
  text: Pick<QueryText, "fields" | "expand">,
  scope: ReadScope,
): SelectionPlan {
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
  return selection.plan(scope.users.table);
}
