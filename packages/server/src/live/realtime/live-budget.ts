/**
 * Budget of live queries: the memory of the windows of each caller, of each address, and of all windows, counted in records
 * (`limits.liveRecords`). A record stands for 512 bytes; a window takes memory beside its records, and so does each viewer.
 */
import type { LimitMeter } from "../../base/logging/index.ts";
import { noRoom } from "./live-errors.ts";
import type { LivePlan, LiveSource } from "./live-sources.ts";

/** The parts of the capacity that a caller, and the users of an address, may hold. */
const callerShare = 8;
const addressShare = 2;
/** A window takes as much memory as so many records: the parsed query, the plan, the state; and so does a viewer. */
const windowRecords = 32;
const viewerRecords = 2;
/** Characters of a query that take as much memory as a record. */
const charactersPerRecord = 64;

/** The records that a window counts as. @param key the text of the query; the arguments of a server query count in the plan. */
export function recordsOf(key: string, source: LiveSource, plan: LivePlan): number {
  const text = "name" in source ? 0 : Math.ceil(key.length / charactersPerRecord);
  return plan.limit + windowRecords + text;
}

/** A viewer with the caller who pays, and the address, whose users share a part. */
interface BudgetHolder {
  readonly caller: string;
  readonly address: string;
}

/** The names of the shares that a viewer takes from. An address has a name that no caller has. */
export function sharesOf({ caller, address }: BudgetHolder): readonly [caller: string, address: string] {
  return [caller, `address ${address}`];
}

export class LiveBudget {
  readonly #limits: LimitMeter;
  readonly #capacity: number;
  readonly #held = new Map<string, number>();
  /** The records of all windows; a window of several callers counts once. */
  total = 0;

  constructor({ limits, capacity }: { limits: LimitMeter; capacity: number }) {
    this.#limits = limits;
    this.#capacity = capacity;
  }

  /** Whether all windows together leave no room for a window. */
  isFull(records: number): boolean {
    return this.total + records > this.#capacity;
  }

  /**
   * Counts a further viewer of a window.
   * @param known the shares that have other viewers of the window: the window counts once for each share. Null for a new window.
   * @throws FrameError `query_limit` for a window beyond the bound of all callers, of the caller or of the address.
   */
  admit(holder: BudgetHolder, records: number, known: { has(share: string): boolean } | null): void {
    const [caller, address] = sharesOf(holder).map((share) => this.#more(share, records, known));
    const isFull = known === null && this.isFull(records);
    const isOver = (more: typeof caller, part: number): boolean =>
      more !== undefined && more.after > this.#capacity / part;
    if (isFull || isOver(caller, callerShare) || isOver(address, addressShare)) {
      this.#limits.reached("liveRecords", { caller: holder.caller, address: holder.address });
      throw noRoom(isFull);
    }
    for (const more of [caller, address]) if (more !== undefined) this.#held.set(more.share, more.after);
    if (known === null) this.total += records;
  }

  /** A viewer of a window has left. @param known the shares that have other viewers of the window. */
  leave(holder: BudgetHolder, records: number, known: { has(share: string): boolean }): void {
    for (const share of sharesOf(holder)) {
      const { after } = this.#more(share, -records, known);
      if (after > 0) this.#held.set(share, after);
      else this.#held.delete(share);
    }
  }

  #more(
    share: string,
    records: number,
    known: { has(share: string): boolean } | null,
  ): { share: string; after: number } {
    const window = known?.has(share) === true ? 0 : records;
    return { share, after: (this.#held.get(share) ?? 0) + window + Math.sign(records) * viewerRecords };
  }
}
