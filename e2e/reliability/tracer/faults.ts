/** The rules of the configuration: which calls are refused or delayed. */
import { randomNumbers } from "../../../packages/server/test/random.ts";
import { errnoOf, type Rule } from "./config.ts";
import type { Control } from "./control.ts";
import type { Trap } from "./filter.ts";
import { type Entry, pathsOf, skip } from "./thread.ts";
import type { Verdict } from "./tracees.ts";

export function faultTraps(rules: readonly Rule[]): Trap[] {
  return [...new Set(rules.flatMap(({ calls }) => calls))].map((call) => ({ call }));
}

export class Faults {
  readonly #rules: readonly (Rule & { readonly pattern: RegExp | null; matched: number })[];
  readonly #control: Control;
  readonly #random: () => number;

  constructor(rules: readonly Rule[], control: Control, seed: number) {
    this.#rules = rules.map((rule) => ({
      ...rule,
      pattern: rule.path === undefined ? null : new RegExp(rule.path),
      matched: 0,
    }));
    this.#control = control;
    this.#random = randomNumbers(seed);
    rules.forEach(({ armed = true }, i) => void control.arm(i, armed));
  }

  /** What the first rule that hits makes of a call; `otherwise` decides about a call that is made. */
  entered(entry: Entry, otherwise: () => Verdict): Verdict {
    for (const [i, rule] of this.#rules.entries()) {
      if (!this.#isHit(i, entry)) continue;
      this.#control.countHit(i);
      const { errno, delayMs = 0 } = rule;
      const next = (): Verdict => (errno === undefined ? otherwise() : refuse(entry, errno));
      return delayMs > 0 ? { kind: "later", delayMs, next } : next();
    }
    return otherwise();
  }

  #isHit(i: number, entry: Entry): boolean {
    const rule = this.#rules[i];
    if (rule === undefined || !this.#control.isArmed(i) || !rule.calls.includes(entry.call)) return false;
    const { pattern, after = 0, times = Number.POSITIVE_INFINITY, probability = 1 } = rule;
    if (pattern !== null && !pathsOf(entry).some((path) => pattern.test(path))) return false;
    rule.matched += 1;
    return rule.matched > after && this.#control.hits(i) < times && this.#random() < probability;
  }
}

function refuse({ tid }: Entry, errno: string): Verdict {
  skip(tid, -errnoOf(errno));
  return { kind: "skipped" };
}
