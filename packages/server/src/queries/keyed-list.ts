/**
 * Keyed lists: lists under a rule by membership, on the event loop.
 *
 * The rule leads from records of the caller, by indexes, to keys, one of which a field of each record holds (`expressions`, `keysOf`).
 * They are looked up first, in a bounded number of rows. Where they are few, and one index answers the list for each of them, the
 * ranges of that index are merged: beside the page, one row of each key is read. Where they are many, the list runs on a thread.
 */
import type { Collection } from "../collections/index.ts";
import { identifier, type RowReader } from "../database/index.ts";
import {
  bind,
  type Constant,
  collectionsIn,
  columnOf,
  type EvaluationContext,
  type Expression,
  eachOperand,
  isConstant,
  isNull,
  isOwn,
  keysOf,
  ownPath,
  type SqlOptions,
} from "../expressions/index.ts";
import { BoundedMap } from "../kernel/index.ts";
import { indexUseOf } from "./index-use.ts";
import type { PagePlan, SqlPart } from "./plan.ts";
import type { Sort } from "./sort.ts";

/** Keys that a page may have, and rows that each step to them may read. */
const maxKeys = 64;

/** Callers and conditions whose keys are kept. */
const maxKept = 2_000;

/** The keys of a list. */
interface Keys {
  readonly lookUp: SqlPart;
  /** The same for the same lookup. */
  readonly name: string;
  /** The names of the collections that it reads; null where it depends on something that has no version. */
  readonly asked: ReadonlySet<string> | null;
  /** The field that holds one of them, as SQL. */
  readonly column: string;
  /** Constants that a key must equal. */
  readonly pins: readonly Constant[];
  /** The other conditions. */
  readonly rest: readonly Expression[];
  /** Whether an index gives the order of the records of a key. */
  readonly isOrdered: boolean;
}

/** A list by its keys. */
export interface KeyedList extends Pick<Keys, "lookUp" | "name" | "asked" | "column" | "pins"> {
  /** The page, once its keys are known. */
  readonly plan: PagePlan;
}

interface Asked {
  readonly collection: Collection;
  /** The quoted SQL name of its table. */
  readonly table: string;
  readonly sort: Sort;
  readonly options: SqlOptions;
}

/** The keys of a list; null where its conditions give none, or no index answers it for a key. */
export function keysOfList(
  { collection, table, sort, options }: Asked,
  conditions: readonly Expression[],
): Keys | null {
  const terms = conditions.flatMap((condition) => (condition.type === "and" ? condition.items : [condition]));
  for (const term of terms) {
    const keyed = keysOf(term, options);
    if (keyed === null) continue;
    const left = ownPath(keyed.field);
    const right = { type: "value", value: "", valueType: "text" } as const;
    const others = terms.filter((each) => each !== term);
    const pins = others.flatMap((each) => pinOf(each, columnOf(left)) ?? []);
    const rest = others.filter((each) => pinOf(each, columnOf(left)) === null);
    const isOfKey: Expression = { type: "compare", operator: "=", left, right };
    const { isBounded, isOrdered } = indexUseOf(collection, [...rest, isOfKey], { sort, offset: 0 });
    if (!isBounded) continue;
    const lookUp = keyed.lookUp(maxKeys);
    const name = new Bun.CryptoHasher("sha256").update(JSON.stringify(lookUp)).digest("base64url");
    return {
      lookUp,
      name,
      asked: versioned(term),
      column: `${table}.${identifier(columnOf(left))}`,
      pins,
      rest,
      isOrdered,
    };
  }
  return null;
}

/** The constant that a condition says the key equals; null where it says something else. */
function pinOf(condition: Expression, column: string): Constant | null {
  if (condition.type !== "compare" || condition.operator !== "=") return null;
  const { left, right } = condition;
  const isKey = left.type === "path" && isOwn(left) && columnOf(left) === column;
  return isKey && isConstant(right) && !isNull(right) ? right : null;
}

/** The names of the collections that a condition reads, where their versions and the caller's id are all that it depends on. */
function versioned(condition: Expression): ReadonlySet<string> | null {
  const names = collectionsIn(condition);
  let isFleeting = names.has("users");
  eachOperand(condition, (operand) => {
    if (operand.type === "macro" && operand.name !== "user.id") isFleeting = true;
  });
  return isFleeting ? null : names;
}

/** Looks up the keys of lists, and keeps them until a collection that they depend on changes. */
export class KeyedLists {
  readonly #versionOf: (asked: ReadonlySet<string>) => string;
  readonly #kept = new BoundedMap<string, { readonly version: string; readonly keys: readonly string[] | null }>(
    maxKept,
  );

  /** @param versionOf the version of some collections and of all definitions. */
  constructor(versionOf: (asked: ReadonlySet<string>) => string) {
    this.#versionOf = versionOf;
  }

  /** The page of a list by its keys, as they are now; null where they are too many. */
  page(reader: RowReader, list: KeyedList, context: EvaluationContext): PagePlan | null {
    const { column, plan, pins } = list;
    const keys = this.#keys(reader, list, context);
    if (keys === null) return null;
    const values = bind(pins, context);
    return { ...plan, keyed: { column, keys: keys.filter((key) => values.every((value) => value === key)) } };
  }

  #keys(reader: RowReader, { lookUp, name, asked }: KeyedList, context: EvaluationContext): readonly string[] | null {
    if (asked === null) return readKeys(reader, lookUp, context);
    const [version, id] = [this.#versionOf(asked), `${context.user?.id ?? ""} ${name}`];
    const kept = this.#kept.get(id);
    if (kept?.version === version) return kept.keys;
    const keys = readKeys(reader, lookUp, context);
    this.#kept.set(id, { version, keys });
    return keys;
  }
}

/** The keys as they are now; null where they are too many. */
function readKeys(reader: RowReader, lookUp: SqlPart, context: EvaluationContext): readonly string[] | null {
  const keys = new Set<string>();
  for (const { id } of reader.all<{ id: string | null }>(lookUp.text, ...bind(lookUp.values, context))) {
    if (id === null) return null;
    keys.add(id);
  }
  return [...keys];
}
