import { isName } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { type AppError, quote } from "../kernel/index.ts";
import { modelOf } from "./model.ts";
import { hintFor, type QueryText, refuseParameter } from "./query-text.ts";
import type { Reach } from "./reach.ts";
import { type Row, recordSource, type Source, userSource } from "./source.ts";

/** How deep a path may lead, through relations in either direction. */
const maxDepth = 3;
/** Paths that one request may name. */
const maxPaths = { fields: 200, expand: 20 } as const;

/** What is answered beside a record under `expand`: the record that a field points to, or those that point to it. */
export interface Expansion {
  /** As it was asked for, and stands in the answer. */
  readonly name: string;
  /** Whether records elsewhere point here, instead of one of ours to them. */
  readonly isBackward: boolean;
  /** The field that holds the id: forward one of ours, backward one of theirs. */
  readonly field: string;
  readonly selection: Selection;
}

/** What of a record is answered: which fields, and what its relations lead to. */
export class Selection {
  readonly source: Source;
  readonly expansions: Expansion[] = [];
  /** The fields that were asked for, each with the ways into its JSON; null for all there are. */
  #fields: Map<string, string[][] | null> | null = null;
  readonly #pointer: string | null;
  #columns: readonly string[] | null = null;
  #sql: string | null = null;
  #decode: ((rows: readonly Row[]) => void) | null = null;

  /** @param pointer the field by which records of the source point to others, where they are reached through it. */
  constructor(source: Source, pointer: string | null = null) {
    this.source = source;
    this.#pointer = pointer;
  }

  /** The same for selections of which one is about as much work as another. */
  get kind(): string {
    const beside = this.expansions.map((expansion) => `${expansion.name} ${expansion.selection.kind}`);
    return `${this.sql} ${beside.join(" ")}`;
  }

  /** Whether even its names are none of the caller's business. Those of users are known. */
  get isHidden(): boolean {
    return this.source.access === "none" && this.source.name !== "users";
  }

  /** Whether records go out as they are read. */
  get isWhole(): boolean {
    return this.#fields === null && this.expansions.length === 0;
  }

  /** The names that must be read: those that are answered, the id, and what relations are followed by. */
  get columns(): readonly string[] {
    this.#columns ??= this.source.names.filter(
      (name) =>
        name === "id" ||
        name === this.#pointer ||
        this.#fields === null ||
        this.#fields.has(name) ||
        this.expansions.some((expansion) => !expansion.isBackward && expansion.field === name),
    );
    return this.#columns;
  }

  /** The columns as SQL. From the first call on the selection must not change. */
  get sql(): string {
    this.#sql ??= this.source.columns(this.columns);
    return this.#sql;
  }

  /** Turns what was read into values of records, in place. */
  decode(rows: readonly Row[]): void {
    this.#decode ??= this.source.decoder(this.columns);
    this.#decode(rows);
  }

  /** From now on only fields that were asked for are answered. */
  narrow(): void {
    this.#fields ??= new Map();
  }

  /** `members` leads on into JSON; without any, the whole field is meant. */
  ask(name: string, members: readonly string[]): void {
    this.narrow();
    const ways = this.#fields?.get(name);
    if (members.length === 0 || ways === null) this.#fields?.set(name, null);
    else this.#fields?.set(name, [...(ways ?? []), [...members]]);
  }

  askAll(): void {
    for (const name of this.source.names) this.ask(name, []);
  }

  /** The record that is answered for a row, which must have been decoded. */
  shape(row: Row, expanded: Row | null): Row {
    const record: Row = this.#fields === null ? row : {};
    for (const name of this.source.names) {
      const ways = this.#fields?.get(name);
      if (ways === undefined) continue;
      record[name] = ways === null ? (row[name] ?? null) : pick(row[name] ?? null, ways);
    }
    if (expanded !== null) record["expand"] = expanded;
    return record;
  }
}

/** Only what lies on the given ways into a JSON value; what is not there is left out. */
function pick(value: Row[string], ways: readonly (readonly string[])[]): Row[string] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const picked: { [name: string]: Row[string] } = {};
  for (const [name, inner] of Object.entries(value)) {
    const further = ways.filter((way) => way[0] === name).map((way) => way.slice(1));
    if (further.length === 0) continue;
    const isWhole = further.some((way) => way.length === 0);
    Object.defineProperty(picked, name, {
      value: isWhole ? inner : pick(inner, further),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return picked;
}

/** Reads `fields` and `expand`. */
class SelectionParser {
  readonly #reach: Reach;
  readonly #parameter: "fields" | "expand";

  constructor(reach: Reach, parameter: "fields" | "expand") {
    this.#reach = reach;
    this.#parameter = parameter;
  }

  paths(text: string): string[] {
    const paths = text.split(",").map((path) => path.trim());
    const most = maxPaths[this.#parameter];
    if (paths.length > most) throw refuseParameter(this.#parameter, `at most ${most} paths are allowed`);
    if (paths.includes("")) throw refuseParameter(this.#parameter, "there is a comma too much, or a name is missing");
    return paths;
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
    // Of what the caller may not read nothing is told, not even what it has.
    if (at.isHidden) return;
    if (last === "*") at.askAll();
    else if (at.source.names.includes(last)) at.ask(last, []);
    else throw this.#unknown(at, last);
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
    const backward = /^([A-Za-z][A-Za-z0-9_]*)\(([A-Za-z][A-Za-z0-9_]*)\)$/.exec(name);
    const expansion =
      backward === null
        ? this.#forward(from, name)
        : this.#backward(from, { name, collectionName: backward[1] ?? "", fieldName: backward[2] ?? "" });
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
    const target = this.#reach.target(field);
    const source =
      target === null
        ? userSource(this.#reach.users, this.#reach.accessToUsers())
        : recordSource(modelOf(target), this.#reach.accessTo(target));
    return { name, isBackward: false, field: name, selection: new Selection(source) };
  }

  #backward(
    from: Selection,
    { name, collectionName, fieldName }: { name: string; collectionName: string; fieldName: string },
  ): Expansion {
    const target = from.source.name;
    const collection = this.#reach.named(collectionName);
    const fields = collection === undefined ? [] : modelOf(collection).fields;
    const pointing = fields.filter((field) => typeOf(field).reference === "record" && field.collection === target);
    if (collection !== undefined && pointing.some((field) => field.name === fieldName)) {
      const source = recordSource(modelOf(collection), this.#reach.accessTo(collection));
      return { name, isBackward: true, field: fieldName, selection: new Selection(source, fieldName) };
    }
    if (collection === undefined || !this.#reach.isOpen(collection)) {
      const hint = hintFor(collectionName, this.#reach.openNames());
      throw refuseParameter(this.#parameter, `there is no ${quote(name)} that points to "${target}"${hint}`);
    }
    const hint =
      pointing.length === 0
        ? `no field of "${collectionName}" points to "${target}"`
        : `it has ${pointing.map((one) => `${collectionName}(${one.name})`).join(", ")}`;
    throw refuseParameter(this.#parameter, `${quote(name)} does not point to "${target}"; ${hint}`);
  }

  /** Somebody who writes the name of a collection means the records of it that point here. */
  #pointingHere(from: Selection, name: string): AppError | null {
    const collection = this.#reach.named(name);
    if (collection === undefined || !this.#reach.isOpen(collection)) return null;
    const field = modelOf(collection).fields.find((candidate) => candidate.collection === from.source.name);
    if (field === undefined) return null;
    return refuseParameter(this.#parameter, `${quote(name)} is no field; did you mean "${name}(${field.name})"?`);
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

const wholes = new WeakMap<Source, Selection>();

/** All fields of a source, and nothing beside them. */
function wholeOf(source: Source): Selection {
  const known = wholes.get(source) ?? new Selection(source);
  wholes.set(source, known);
  return known;
}

/**
 * What of each record of a source is answered.
 * @throws AppError `bad_request` for a path that leads nowhere or too deep.
 */
export function parseSelection(source: Source, text: Pick<QueryText, "fields" | "expand">, reach: Reach): Selection {
  if (text.expand === undefined && text.fields === undefined) return wholeOf(source);
  const selection = new Selection(source);
  if (text.expand !== undefined) {
    const parser = new SelectionParser(reach, "expand");
    for (const path of parser.paths(text.expand)) parser.expand(selection, path);
  }
  if (text.fields !== undefined) {
    const parser = new SelectionParser(reach, "fields");
    selection.narrow();
    for (const path of parser.paths(text.fields)) parser.field(selection, path);
  }
  return selection;
}
