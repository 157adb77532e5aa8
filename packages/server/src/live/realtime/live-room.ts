/** Live room: the items that the windows of each caller, and all windows, may have (`limits.liveRecords`). */
import type { LimitMeter } from "../../base/logging/index.ts";
import { noRoom } from "./live-errors.ts";

/** The part of the capacity that a caller may hold. */
const share = 4;

export class LiveRoom {
  readonly #limits: LimitMeter;
  readonly #capacity: number;
  readonly #held = new Map<string, number>();
  /** The items of all windows; a window of several callers counts once. */
  total = 0;

  constructor({ limits, capacity }: { limits: LimitMeter; capacity: number }) {
    this.#limits = limits;
    this.#capacity = capacity;
  }

  /** @throws FrameError `query_limit` for a window beyond the bound, of all callers or of this caller. */
  admit(caller: string, items: number, isNew: boolean): void {
    const isFull = isNew && this.total + items > this.#capacity;
    if (!isFull && (this.#held.get(caller) ?? 0) + items <= this.#capacity / share) {
      this.count(caller, items);
      return;
    }
    this.#limits.reached("liveRecords", { caller });
    throw noRoom(isFull);
  }

  /** A caller holds more items, or fewer. */
  count(caller: string, items: number): void {
    const left = (this.#held.get(caller) ?? 0) + items;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
  }
}
