/** Random schemas, rules, queries and records of the property test of rules. Every random value comes from `choose`. */
import {
  fileField,
  fileItems,
  type ModelCollection,
  type ModelField,
  ownerField,
  recordItems,
  userItems,
} from "./model.ts";
import {
  type Backward,
  type Condition,
  type Literal,
  type Operator,
  type Path,
  type Rule,
  type Term,
  textOfPath,
  type Value,
  type Word,
} from "./syntax.ts";

/** A whole number from 0 to below a bound. */
export type Choose = (bound: number) => number;

const names = ["alpha", "beta", "gamma", "delta"] as const;
const texts = ["x", "y", "Z"] as const;

/** The fields that rules and queries name; `s` holds secrets, which no rule reads. */
const plain = [
  { name: "t", type: "string" },
  { name: "n", type: "integer" },
  { name: "flag", type: "boolean" },
] as const;
const relations = ["r0", "r1"] as const;
/** The fields by which records point to others. */
const pointers = [...relations, recordItems] as const;
/** The searched fields of collections. */
const searches = [["t"], ["t", "s"], ["s"], null] as const;

/** The room that a condition has: levels, relations, and in brackets the collection of the record of the whole condition. */
interface Room {
  readonly depth: number;
  readonly hops: number;
  readonly root?: string;
}

/** The ids of users and files, which records may point to. */
interface References {
  readonly users: readonly string[];
  readonly files: readonly string[];
}

export class Generator {
  readonly #choose: Choose;
  /** The targets of the relations of each collection. */
  readonly targets: ReadonlyMap<string, ReadonlyMap<string, string>>;

  constructor(choose: Choose) {
    this.#choose = choose;
    const used = names.slice(0, 2 + choose(3));
    this.targets = new Map(used.map((name) => [name, new Map(pointers.map((pointer) => [pointer, this.of(used)]))]));
  }

  get names(): string[] {
    return [...this.targets.keys()];
  }

  of<T>(items: readonly T[]): T {
    const item = items[this.#choose(items.length)];
    if (item === undefined) throw new Error("There is nothing to choose from");
    return item;
  }

  /** Some of the items, at most two, in any order. */
  some(items: readonly string[]): string[] {
    if (items.length === 0) return [];
    return [...new Set(Array.from({ length: this.#choose(3) }, () => this.of(items)))];
  }

  /** True in a single case of `cases`. */
  rarely(cases: number): boolean {
    return this.#choose(cases) === cases - 1;
  }

  word(): Word {
    return this.of(["public", "authenticated", "owner", "admin"]);
  }

  rule(collection: string): Rule {
    if (this.#choose(3) === 0) return this.word();
    const condition = this.condition(collection, { depth: 2, hops: 4 });
    // A rule may have 4 KB.
    return this.rarely(12) ? { kind: "or", parts: [condition, padding] } : condition;
  }

  collections(): ModelCollection[] {
    return this.names.map((name) => ({
      name,
      fields: [
        ...plain.map((field) => ({ ...field, ...this.#fieldRules(name, 5) })),
        { name: "s", type: "string" as const, ...this.#fieldRules(name, 1) },
        ...relations.map((relation) => this.#relation(name, relation)),
        { ...this.#relation(name, recordItems), multiple: true as const },
        {
          name: userItems,
          type: "relation" as const,
          collection: "users",
          multiple: true as const,
          ...this.#fieldRules(name, 6),
        },
        { name: fileItems, type: "file" as const, multiple: true as const, ...this.#fieldRules(name, 6) },
        { name: "u", type: "relation" as const, collection: "users", ...this.#fieldRules(name, 6) },
        { name: ownerField, type: "relation" as const, collection: "users", ...this.#fieldRules(name, 8) },
        { name: fileField, type: "file" as const, ...this.#fieldRules(name, 2) },
      ],
      search: this.of(searches),
      rules: {
        read: this.rarely(2) ? "public" : this.rule(name),
        create: this.rarely(2) ? "public" : this.rule(name),
        update: this.rarely(2) ? "public" : this.rule(name),
        delete: this.rule(name),
      },
    }));
  }

  /** The same collections, with other rules for a single collection: a rule of its own, or the rules of a field. */
  changedRules(collections: readonly ModelCollection[]): ModelCollection[] {
    const { name: changed } = this.of(collections);
    const operation = this.of(["read", "read", "create", "update"] as const);
    const field = this.rarely(2) ? this.of(["t", "s", "u", fileField, userItems, fileItems, ...pointers]) : null;
    return collections.map((collection) => {
      const { name, fields, rules } = collection;
      if (name !== changed) return collection;
      if (field === null) return { ...collection, rules: { ...rules, [operation]: this.rule(name) } };
      const other = this.rarely(2) ? { read: null, update: null } : this.#fieldRules(name, 1);
      return { ...collection, fields: fields.map((each) => (each.name === field ? { ...each, ...other } : each)) };
    });
  }

  #relation(collection: string, name: (typeof pointers)[number]): ModelField {
    const target = this.targets.get(collection)?.get(name);
    if (target === undefined) throw new Error(`There is no relation ${collection}.${name}`);
    return { name, type: "relation", collection: target, ...this.#fieldRules(collection, 6) };
  }

  #fieldRules(collection: string, cases: number): Pick<ModelField, "read" | "update"> {
    if (!this.rarely(cases)) return { read: null, update: null };
    const read = this.rarely(6) ? null : this.rule(collection);
    // Without a rule of its own, that of `read` holds.
    return { read, update: this.rarely(2) ? this.rule(collection) : null };
  }

  condition(collection: string, left: Room): Condition {
    const { depth, hops, root } = left;
    const kind = depth === 0 ? this.#choose(3) : this.#choose(9);
    if (kind === 3 || kind === 4) {
      const parts = Array.from({ length: 2 }, () => this.condition(collection, { ...left, depth: depth - 1 }));
      return { kind: kind === 3 ? "and" : "or", parts };
    }
    if (kind === 5) return { kind: "not", part: this.condition(collection, { ...left, depth: depth - 1 }) };
    if (root !== undefined && this.rarely(3)) return this.#ofRecord(collection, root, hops);
    if (kind === 6) return this.#every(collection, left) ?? this.#comparison(collection, hops, root);
    if (kind > 6) return this.#backward(collection, left) ?? this.#comparison(collection, hops, root);
    return this.#comparison(collection, hops, root);
  }

  /** The way through some relations, and the collection at its end. */
  #way(collection: string, most: number): { hops: string[]; end: string } {
    const hops: string[] = [];
    let end = collection;
    while (hops.length < most && this.rarely(3)) {
      const relation = this.of(relations);
      hops.push(relation);
      end = this.targets.get(end)?.get(relation) ?? end;
    }
    return { hops, end };
  }

  path(collection: string, hops = 1): Path {
    return { hops: this.#way(collection, hops).hops, field: this.of(plain).name };
  }

  /** Different paths that records are grouped by. */
  keys(collection: string): Path[] {
    const keys = Array.from({ length: this.#choose(3) }, (): Path => {
      const own = this.of(["s", "u", ownerField, fileField, userItems, fileItems, recordItems, ...relations]);
      return this.rarely(3) ? { hops: [], field: own } : this.path(collection);
    });
    return [...new Map(keys.map((key) => [textOfPath(key), key])).values()];
  }

  /** A search of a single word or two words. */
  words(): string[] {
    const word = (): string => this.of([...texts, "x*", '"y"', "sec*", `secret${this.#choose(20)}`]);
    return Array.from({ length: 1 + Number(this.rarely(3)) }, word);
  }

  /** A comparison in brackets with the record of the whole condition. */
  #ofRecord(collection: string, root: string, most: number): Condition {
    const ofRecord = (field: string): Path => ({
      ofRecord: true,
      hops: this.#way(root, Math.min(1, most)).hops,
      field,
    });
    const field = this.of(plain).name;
    const operator = this.of(["=", "!="] as const);
    switch (this.#choose(3)) {
      case 0: {
        const right: Term = { kind: "path", path: { hops: [], field: "u" } };
        return { kind: "compare", left: ofRecord(userItems), operator, right };
      }
      case 1: {
        const { left, ...comparison } = this.#plainComparison([]);
        return { kind: "compare", left: ofRecord(left.field), ...comparison };
      }
      default: {
        const { hops } = this.#way(collection, Math.min(1, most));
        return { kind: "compare", left: { hops, field }, operator, right: { kind: "path", path: ofRecord(field) } };
      }
    }
  }

  #every(collection: string, left: Room): Condition | null {
    const { depth, hops: most, root = collection } = left;
    if (most < 1) return null;
    const backward = this.rarely(2) ? null : this.#backward(collection, left);
    const { hops, end } = this.#way(collection, Math.min(1, most - 1));
    const named = this.targets.get(end)?.get(recordItems) ?? end;
    const of =
      backward === null
        ? ({ kind: "named", hops, field: recordItems, where: null } as const)
        : { ...backward, tail: null };
    const room = { depth: depth - 1, hops: Math.min(1, most - of.hops.length - 1), root };
    return { kind: "every", of, check: this.condition(backward?.collection ?? named, room) };
  }

  #comparison(collection: string, most: number, root = collection): Condition {
    if (this.rarely(3)) return this.#ofItems(collection, most, root);
    const { hops } = this.#way(collection, Math.min(2, most));
    switch (this.#choose(7)) {
      case 0:
      case 1: {
        const field = this.of(["u", ownerField] as const);
        return {
          kind: "compare",
          left: { hops, field },
          operator: this.rarely(5) ? "!=" : "=",
          right: { kind: "caller" },
        };
      }
      case 2: {
        const field = this.of([...relations, "u", fileField]);
        return { kind: "compare", left: { hops, field }, operator: this.of(["=", "!="]), right: literal(null) };
      }
      case 3:
        return { kind: "in", left: { hops, field: "t" }, values: [this.of(texts), this.of([...texts, null])] };
      case 4: {
        const field = this.of(plain).name;
        const right: Term = { kind: "path", path: { hops: this.#way(collection, 1).hops, field } };
        return { kind: "compare", left: { hops, field }, operator: this.of(["=", "!="]), right };
      }
      default:
        return { kind: "compare", ...this.#plainComparison(hops) };
    }
  }

  /** A comparison of the items of a multiple field, or of the records that the items name. */
  #ofItems(collection: string, most: number, root: string): Condition {
    const { hops, end } = this.#way(collection, Math.min(1, most));
    const isBeyond = hops.length < most && this.rarely(2);
    const beyond = isBeyond ? [...hops, recordItems] : hops;
    if (isBeyond && this.rarely(3)) {
      const named = this.targets.get(end)?.get(recordItems) ?? end;
      const where = this.condition(named, { depth: 1, hops: Math.min(1, most - beyond.length), root });
      return { kind: "named", hops, field: recordItems, where };
    }
    const operator = this.rarely(3) ? "!=" : "=";
    switch (this.#choose(4)) {
      case 0: {
        const field = this.of([userItems, fileItems, recordItems]);
        return { kind: "compare", left: { hops, field }, operator, right: literal(null) };
      }
      case 1:
        if (isBeyond) return { kind: "compare", ...this.#plainComparison(beyond) };
        return { kind: "compare", left: { hops, field: userItems }, operator, right: { kind: "caller" } };
      case 2:
        if (isBeyond)
          return {
            kind: "in",
            left: { hops: beyond, field: "t" },
            values: [this.of(texts), this.of([...texts, null])],
          };
        return {
          kind: "compare",
          left: { hops, field: userItems },
          operator,
          right: { kind: "path", path: { hops: [], field: "u" } },
        };
      default: {
        const field = isBeyond ? this.of([userItems, "u", ownerField]) : userItems;
        return { kind: "compare", left: { hops: beyond, field }, operator, right: { kind: "caller" } };
      }
    }
  }

  #plainComparison(hops: readonly string[]): { left: Path; operator: Operator; right: Term } {
    const { name: field, type } = this.of(plain);
    const left = { hops, field };
    if (type === "boolean")
      return { left, operator: this.of(["=", "!="]), right: literal(this.of([true, false, null])) };
    if (type === "integer") return { left, operator: this.of(["=", "!=", "<", ">="]), right: literal(this.#choose(4)) };
    return { left, operator: this.of(["=", "!=", "~", ">="]), right: literal(this.of(texts)) };
  }

  #backward(collection: string, { depth, hops: most, root = collection }: Room): Backward | null {
    if (most < 1) return null;
    const { hops, end } = this.#way(collection, Math.min(1, most - 1));
    const pointing = this.names.flatMap((name) =>
      pointers.filter((pointer) => this.targets.get(name)?.get(pointer) === end).map((pointer) => ({ name, pointer })),
    );
    if (pointing.length === 0) return null;
    const { name, pointer } = this.of(pointing);
    const left = most - hops.length - 1;
    const where = this.rarely(3)
      ? null
      : this.condition(name, { depth: Math.max(0, depth - 1), hops: Math.min(left, 1), root });
    const isTailed = where === null || this.rarely(3);
    const tail = isTailed ? this.#tail(collection) : null;
    return { kind: "backward", hops, collection: name, pointer, where, tail };
  }

  #tail(collection: string): { left: Path; operator: Operator; right: Term } {
    if (this.#choose(2) === 0)
      return { left: { hops: [], field: this.of(["u", ownerField]) }, operator: "=", right: { kind: "caller" } };
    const field = this.of(plain).name;
    const right: Term = { kind: "path", path: { hops: this.#way(collection, 1).hops, field } };
    return this.#choose(2) === 0 ? this.#plainComparison([]) : { left: { hops: [], field }, operator: "=", right };
  }

  /** Values of the plain fields, of the fields for users and files, and a secret that no other record has. */
  values({ users, files }: References, secret: string): { [field: string]: Value } {
    return {
      t: this.of([...texts, null]),
      n: this.of([0, 1, 2, 3, null]),
      flag: this.of([true, false, null]),
      s: secret,
      u: this.of([...users, null]),
      [fileField]: this.of([...files, null]),
      [userItems]: this.some(users),
      [fileItems]: this.some(files),
    };
  }
}

function literal(value: Literal): Term {
  return { kind: "literal", value };
}

/** A condition of almost 4 KB that never holds. */
const padding: Condition = {
  kind: "in",
  left: { hops: [], field: "t" },
  values: Array.from({ length: 60 }, (_, i) => `${"padding".repeat(6)}${i}`),
};
