import type { SnapshotReader } from "./snapshot-reader.ts";
import type { Reader, Value } from "./types.ts";

/**
 * How many rows a statement may look at on the event loop, and for how long: what is more goes to a thread. As much as a
 * row counts each piece of what is looked at in it.
 */
const maxVisits = 5_000;
const maxMs = 10;
const pieceBytes = 400;

/** Thrown by a statement that looks at too much for the event loop. */
export class TooManyVisits extends Error {
  override readonly name = "TooManyVisits";
}

/** What is left to the statement that runs. Statements without `_visit` do not ask. */
export class VisitBudget {
  #left = Number.POSITIVE_INFINITY;
  #until = 0;

  begin(): void {
    this.#left = maxVisits;
    this.#until = performance.now() + maxMs;
  }

  end(): void {
    this.#left = Number.POSITIVE_INFINITY;
  }

  readonly visit = (bytes: number): void => {
    if (this.#left === Number.POSITIVE_INFINITY) return;
    this.#left -= 1 + bytes / pieceBytes;
    if (this.#left < 0 || performance.now() > this.#until) throw new TooManyVisits();
  };
}

/** Reads on the event loop that end with `TooManyVisits` rather than hold it up. */
export class FrugalReader implements Reader {
  readonly #reader: SnapshotReader;
  readonly #budget: VisitBudget;

  constructor(reader: SnapshotReader, budget: VisitBudget) {
    this.#reader = reader;
    this.#budget = budget;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    this.#budget.begin();
    try {
      return this.#reader.get<T>(sql, ...values);
    } finally {
      this.#budget.end();
    }
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    this.#budget.begin();
    try {
      return this.#reader.all<T>(sql, ...values);
    } finally {
      this.#budget.end();
    }
  }
}
