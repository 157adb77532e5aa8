/** Calls of hooks, counted: by hook and end, with their durations. */
import { Histogram, type HistogramTotals } from "../../base/logging/index.ts";

/** Whether a hook let the change pass, refused the change, or did not decide. */
type HookEnd = "passed" | "refused" | "failed";

type HookCounts = { readonly [end in HookEnd]: number };

/** A hook by its file and handler. */
interface HookName {
  readonly path: string;
  readonly handler: string;
}

interface HookTotals extends HookName {
  readonly counts: HookCounts;
  readonly durations: HistogramTotals;
}

interface Counted extends HookName {
  readonly counts: { [end in HookEnd]: number };
  readonly durations: Histogram;
}

export class HookMeter {
  /** The counts by `path:handler`. */
  #hooks = new Map<string, Counted>();

  /** These are all hooks from now on: the others are forgotten. */
  keep(hooks: readonly HookName[]): void {
    const known = hooks.map(({ path, handler }) => this.#of({ path, handler }));
    this.#hooks = new Map(known.map((hook) => [keyOf(hook), hook]));
  }

  ended(hook: HookName, end: HookEnd): void {
    this.#of(hook).counts[end] += 1;
  }

  took(hook: HookName, ms: number): void {
    this.#of(hook).durations.observe(ms);
  }

  countsOf(hook: HookName): HookCounts {
    return this.#of(hook).counts;
  }

  totals(): HookTotals[] {
    return [...this.#hooks.values()].map((hook) => ({ ...hook, durations: hook.durations.totals() }));
  }

  #of({ path, handler }: HookName): Counted {
    const key = keyOf({ path, handler });
    const known = this.#hooks.get(key);
    if (known !== undefined) return known;
    const counted = { path, handler, counts: { passed: 0, refused: 0, failed: 0 }, durations: new Histogram() };
    this.#hooks.set(key, counted);
    return counted;
  }
}

function keyOf({ path, handler }: HookName): string {
  return `${path}:${handler}`;
}
