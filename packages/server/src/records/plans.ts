import type { Collection } from "../collections/index.ts";
import type { Reader, Value } from "../database/index.ts";
import { BoundedMap } from "../kernel/index.ts";

/** Statements of one collection whose plan is remembered, and how long they may be. */
const maxPlans = 500;
const maxCharacters = 4_000;

/** What SQLite says of how it will run a statement, one line for each step. */
export async function planOf(reader: Reader, sql: string, values: readonly Value[]): Promise<string[]> {
  const steps = await reader.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
  return steps.map(({ detail }) => detail);
}

/** How a statement is run. */
export interface Plan {
  /**
   * How many comparisons an index answers, where it also gives the order and nothing else is looked at; else null. When
   * these are all that the statement has, it looks at no more rows than it answers.
   */
  readonly answered: number | null;
  /** Whether the order has to be made. */
  readonly isSorting: boolean;
}

/** What is known of statements, and of records, for as long as a collection is as it is. */
export class Plans {
  readonly #plans = new WeakMap<Collection, BoundedMap<string, Plan>>();
  readonly #heavy = new WeakSet<Collection>();

  /** Whether a few records of the collection have been too much for a page. */
  isHeavy(collection: Collection): boolean {
    return this.#heavy.has(collection);
  }

  noteHeavy(collection: Collection): void {
    this.#heavy.add(collection);
  }

  known(collection: Collection, sql: string): Plan | undefined {
    return this.#plans.get(collection)?.get(sql);
  }

  async learn(
    reader: Reader,
    collection: Collection,
    { sql, values }: { readonly sql: string; readonly values: readonly Value[] },
  ): Promise<Plan> {
    const steps = await planOf(reader, sql, values);
    const [step = ""] = steps;
    const plan: Plan = {
      // As in "SEARCH items USING INDEX items.author (author=? AND rowid<?)".
      answered: steps.length === 1 ? (step.match(/[=<>]\?/g)?.length ?? 0) : null,
      isSorting: steps.some((each) => each.startsWith("USE TEMP B-TREE")),
    };
    let plans = this.#plans.get(collection);
    if (plans === undefined) {
      plans = new BoundedMap(maxPlans);
      this.#plans.set(collection, plans);
    }
    if (sql.length <= maxCharacters) plans.set(sql, plan);
    return plan;
  }
}
