/** Queues of the writer: short transactions, long transactions in turns of their callers, and migrations. */
import type { Asked, LongJob, ShortJob } from "./jobs.ts";

class TurnQueue<T> {
  /** The items by caller, in the order of turns. */
  readonly #waiting = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** The item that `next` takes. */
  get first(): T | undefined {
    const [own] = this.#waiting.values();
    return own?.[0];
  }

  add(caller: string, item: T): void {
    this.#waiting.getOrInsertComputed(caller, () => []).push(item);
  }

  /** Puts back `item`, which was taken: the item becomes the first of its caller. */
  putBack(caller: string, item: T): void {
    this.#waiting.set(caller, [item, ...(this.#waiting.get(caller) ?? [])]);
  }

  /** Takes the first item of the caller whose turn has come, and puts the caller last; null if no item waits. */
  next(): T | null {
    const [entry] = this.#waiting;
    if (entry === undefined) return null;
    const [caller, [item, ...rest]] = entry;
    this.#waiting.delete(caller);
    if (rest.length > 0) this.#waiting.set(caller, rest);
    return item ?? null;
  }

  /** Takes all items. */
  clear(): T[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return all;
  }
}

export class JobQueues {
  readonly short: ShortJob[] = [];
  readonly long = new TurnQueue<LongJob>();
  readonly #migrations: LongJob[] = [];

  get isEmpty(): boolean {
    return this.short.length + this.#migrations.length === 0 && this.long.isEmpty;
  }

  addLong(job: LongJob): void {
    if (job.site === null) this.long.add(job.caller, job);
    else this.#migrations.push(job);
  }

  /** How many short transactions may run now, `most` at most: the transactions requested before the next migration. */
  due(most: number): number {
    const end = this.#migrations[0]?.number ?? Number.POSITIVE_INFINITY;
    const behind = this.short.findIndex(({ number }) => number > end);
    return Math.min(most, behind < 0 ? this.short.length : behind);
  }

  /** The next migration, if all transactions requested before have run; otherwise the next long transaction. */
  nextLong(): LongJob | null {
    const [migration] = this.#migrations;
    const isNext =
      migration !== undefined && this.due(1) === 0 && !(Number(this.long.first?.number) < migration.number);
    return (isNext ? this.#migrations.shift() : undefined) ?? this.long.next();
  }

  /** Empties the queues. */
  clear(): Asked[] {
    return [...this.short.splice(0), ...this.#migrations.splice(0), ...this.long.clear()];
  }
}
