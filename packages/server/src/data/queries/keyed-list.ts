/**
 * Keyed lists: lists under a rule by membership, on the event loop.
 *
 * The rule leads from records of the caller, by indexes, to keys; a field of each record holds a key (`expressions`, `keysOf`). The
 * keys are looked up first, in a bounded number of rows. With few keys, and an index that answers the list for each key, SQLite
 * merges the ranges of the index: beside the page, a row of each key is read. With many keys, the list runs on a thread.
 */

import { BoundedMap } from "../../base/kernel/index.ts";
import { identifier, type Reader } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import {
  bind,
  type Constant,
  columnOf,
  type EvaluationContext,
  type Expression,
  isConstant,
  isNull,
  isOwn,
  keysOf,
  ownPath,
  type SqlOptions,
} from "../expressions/index.ts";
import { indexUseOf } from "./index-use.ts";
import type { PagePlan, SqlPart } from "./plan.ts";
import type { ReadScope } from "./read-scope.ts";
import type { Sort } from "./sort.ts";
import { asksOf, type Source, whereOf } from "./source.ts";

/** Keys that a page may have, and rows that each step to the keys may read. */
const maxKeys = 64;

/** Callers and conditions whose keys are kept. */
const maxKept = 2_000;

/** A list by its keys. */
export interface KeyedList {
  readonly lookUp: SqlPart;
  /** The same for the same lookup. */
  readonly name: string;
  /** The names of the collections that the lookup reads; null for a lookup that depends on something without a version. */
  readonly asked: ReadonlySet<string> | null;
  /** The field that holds a key, as SQL. */
  readonly column: string;
  /** Constants that a key must equal. */
  readonly pins: readonly Constant[];
  /** The page, once its keys are known. */
  readonly plan: PagePlan;
}

/** The list that may have keys. */
interface Listed {
  readonly collection: Collection;
  readonly source: Source;
  readonly scope: ReadScope;
  readonly conditions: readonly Expression[];
}

/** A list by its keys; null for conditions without keys, and for a list that no index answers for a key. */
export function keyedListOf(
  { collection, source, scope, conditions }: Listed,
  sort: Sort,
  plan: PagePlan,
): KeyedList | null {
  const options: SqlOptions = { users: scope.users.table };
  const terms = conditions.flatMap((condition) => (condition.type === "and" ? condition.items : [condition]));
  for (const term of terms) {
    const keyed = keysOf(term, options);
    if (keyed === null) continue;
    const left = ownPath(keyed.field);
    const right = { type: "value", value: "", valueType: "text" } as const;
    const others = terms.filter((each) => each !== term);
    const rest = others.filter((each) => pinOf(each, columnOf(left)) === null);
    const isOfKey: Expression = { type: "compare", operator: "=", left, right };
    const use = indexUseOf(collection, [...rest, isOfKey], { sort, offset: 0 });
    if (!use.isBounded) continue;
    const lookUp = keyed.lookUp(maxKeys);
    const { names, isFleeting } = asksOf([term]);
    return {
      lookUp,
      name: new Bun.CryptoHasher("sha256").update(JSON.stringify(lookUp)).digest("base64url"),
      asked: isFleeting ? null : names,
      column: `${source.table}.${identifier(columnOf(left))}`,
      pins: others.flatMap((each) => pinOf(each, columnOf(left)) ?? []),
      plan: {
        ...plan,
        where: whereOf(rest, source.table, options),
        sort: { ...plan.sort, isIndexed: use.isOrdered },
      },
    };
  }
  return null;
}

/** The constant that the key must equal by a condition; null for any other condition. */
function pinOf(condition: Expression, column: string): Constant | null {
  if (condition.type !== "compare" || condition.operator !== "=") return null;
  const { left, right } = condition;
  const isKey = left.type === "path" && isOwn(left) && columnOf(left) === column;
  return isKey && isConstant(right) && !isNull(right) ? right : null;
}

/** Looks up the keys of lists, and keeps the keys until a collection of the lookup changes. */
export class KeyedLists {
  readonly #versionOf: (asked: ReadonlySet<string>) => string;
  readonly #kept = new BoundedMap<string, { readonly version: string; readonly keys: readonly string[] | null }>(
    maxKept,
  );

  /** @param versionOf the version of some collections and of all definitions. */
  constructor(versionOf: (asked: ReadonlySet<string>) => string) {
    this.#versionOf = versionOf;
  }

  /** The page of a list by its present keys; null for too many keys. */
  page(reader: Reader, list: KeyedList, context: EvaluationContext): PagePlan | null {
    const { column, plan, pins } = list;
    const keys = this.#keys(reader, list, context);
    if (keys === null) return null;
    const values = bind(pins, context);
    return { ...plan, keyed: { column, keys: keys.filter((key) => values.every((value) => value === key)) } };
  }

  #keys(reader: Reader, { lookUp, name, asked }: KeyedList, context: EvaluationContext): readonly string[] | null {
    if (asked === null) return readKeys(reader, lookUp, context);
    const [version, id] = [this.#versionOf(asked), `${context.user?.id ?? ""} ${name}`];
    const kept = this.#kept.get(id);
    if (kept?.version === version) return kept.keys;
    const keys = readKeys(reader, lookUp, context);
    this.#kept.set(id, { version, keys });
    return keys;
  }
}

/** The present keys; null for too many. */
function readKeys(reader: Reader, lookUp: SqlPart, context: EvaluationContext): readonly string[] | null {
  const keys = new Set<string>();
  for (const { id } of reader.all<{ id: string | null }>(lookUp.text, ...bind(lookUp.values, context))) {
    if (id === null) return null;
    keys.add(id);
  }
  return [...keys];
}
