import type { Collection } from "../collections/index.ts";
import type { Reader, Value } from "../database/index.ts";
import { BoundedMap } from "../kernel/index.ts";

/** Statements of one collection whose plan is remembered. */
const maxPlans = 500;

/** What SQLite says of how it will run a statement, one line for each step. */
export async function planOf(reader: Reader, sql: string, values: readonly Value[]): Promise<string[]> {
  const steps = await reader.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
  return steps.map(({ detail }) => detail);
}

/** What is known of statements, and of records, for as long as a collection is as it is. */
export class Plans {
  readonly #plans = new WeakMap<Collection, BoundedMap<string, boolean>>();
  readonly #heavy = new WeakSet<Collection>();

  /** Whether a few records of the collection have been too much for a page. */
  isHeavy(collection: Collection): boolean {
    return this.#heavy.has(collection);
  }

  noteHeavy(collection: Collection): void {
    this.#heavy.add(collection);
  }

  /** Whether a statement looks at no more rows than it answers. */
  known(collection: Collection, sql: string): boolean | undefined {
    return this.#plans.get(collection)?.get(sql);
  }

  /**
   * @param statement `constraints` is the number of its comparisons, which an index has to answer together with the order.
   */
  async learn(
    reader: Reader,
    collection: Collection,
    statement: { readonly sql: string; readonly values: readonly Value[]; readonly constraints: number },
  ): Promise<boolean> {
    const steps = await planOf(reader, statement.sql, statement.values);
    const [step = ""] = steps;
    // As in "SEARCH items USING INDEX items.author (author=? AND rowid<?)".
    const answered = step.match(/[=<>]\?/g)?.length ?? 0;
    const isBounded = steps.length === 1 && answered === statement.constraints;
    let plans = this.#plans.get(collection);
    if (plans === undefined) {
      plans = new BoundedMap(maxPlans);
      this.#plans.set(collection, plans);
    }
    plans.set(statement.sql, isBounded);
    return isBounded;
  }
}
