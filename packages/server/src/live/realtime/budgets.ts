/** Budgets: the processor time that the filters of a caller may take, live and in replays (`limits.filterTime`). */

/** Seconds of a budget that a caller may use at once. */
const burstSeconds = 10;

/** Seconds of a budget that a decision about a change may take. */
const decisionSeconds = 4;

/** With more callers than these, callers with a whole budget are forgotten. */
const manyCallers = 1_000;

interface Account {
  /** Milliseconds, as of `at`; below zero the caller's filters wait. */
  left: number;
  at: number;
}

export class Budgets {
  readonly perSecond: number;
  /** Milliseconds that a decision about a change may take. */
  readonly decisionMs: number;
  readonly #most: number;
  readonly #now: () => number;
  readonly #accounts = new Map<string, Account>();
  #manyCallers = manyCallers;

  /** @param perSecond milliseconds of processor time in a second. @param now milliseconds that never run backwards. */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.perSecond = perSecond;
    this.decisionMs = perSecond * decisionSeconds;
    this.#most = perSecond * burstSeconds;
    this.#now = now;
  }

  charge(caller: string, ms: number): void {
    this.#accounts.set(caller, { left: Math.max(this.#leftOf(caller) - ms, -this.#most), at: this.#now() });
    if (this.#accounts.size <= this.#manyCallers) return;
    for (const each of this.#accounts.keys()) if (this.#leftOf(each) === this.#most) this.#accounts.delete(each);
    this.#manyCallers = Math.max(manyCallers, this.#accounts.size * 2);
  }

  /** Milliseconds until a caller has processor time left; 0 for now. */
  waitOf(caller: string): number {
    return Math.max(0, (-this.#leftOf(caller) / this.perSecond) * 1_000);
  }

  #leftOf(caller: string): number {
    const account = this.#accounts.get(caller);
    if (account === undefined) return this.#most;
    return Math.min(this.#most, account.left + ((this.#now() - account.at) / 1_000) * this.perSecond);
  }
}
