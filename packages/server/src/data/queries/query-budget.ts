/**
 * Budget of queries on the event loop: the shapes of queries that exceeded the bound of rows lately. The shape of a query is the
 * SQL, the limit and the expansions, without the values. A query of such a shape goes to a thread at once; after some queries,
 * the event loop tries the shape again.
 */
import { BoundedMap } from "../../base/kernel/index.ts";
import type { QueryInput, SelectionPlan } from "./plan.ts";

/** Shapes in memory. A forgotten shape costs one try. */
const maxShapes = 1_000;
/** Queries of a shape that go to a thread between two tries, at most: a try in vain costs as much as a few requests. */
const maxPause = 63;

interface Pause {
  /** Queries that go to a thread after a try in vain. */
  readonly length: number;
  /** Queries that still go to a thread before the next try. */
  left: number;
}

export class QueryBudget {
  readonly #pauses = new BoundedMap<string, Pause>(maxShapes);

  /** Whether the event loop tries the next query of a shape. */
  isTried(shape: string): boolean {
    const pause = this.#pauses.get(shape);
    if (pause === undefined || pause.left === 0) return true;
    pause.left -= 1;
    return false;
  }

  /** Notes the end of a try. Each try in vain doubles the pause, a try that succeeds ends the pause. */
  note(shape: string, hasSucceeded: boolean): void {
    if (hasSucceeded) this.#pauses.delete(shape);
    else {
      const length = Math.min(maxPause, 2 * (this.#pauses.get(shape)?.length ?? 0) + 1);
      this.#pauses.set(shape, { length, left: length });
    }
  }
}

/** The shape of a query; null for a query that may take long before a stop probe is met. */
export function shapeOf(input: QueryInput): string | null {
  if (input.type === "record") return selectionShape(input.selection);
  if (input.type !== "page") return input.type;
  const { plan } = input;
  if (plan.type === "groups" || !plan.isTried) return null;
  const { selection, where, sort, limit } = plan;
  const keys = sort.keys.map(({ text }) => text).join();
  return `${selectionShape(selection)} ${where?.text ?? ""} ${keys} ${sort.isSeqDescending} ${limit}`;
}

function selectionShape({ columns, expansions }: SelectionPlan): string {
  let shape = columns.text;
  for (const { name, target } of expansions)
    shape += ` ${name} (${target === null ? "" : selectionShape(target.selection)} ${target?.condition?.text ?? ""})`;
  return shape;
}
