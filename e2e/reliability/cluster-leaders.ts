/** Leaders of the cluster suite: follows which instance leads in which term, and measures the take-overs. */
import type { SQL } from "bun";
import type { TestInstance } from "../cluster-kit.ts";
import type { Fault } from "./cluster-breaks.ts";
import type { TermChange } from "./cluster-checks.ts";
import type { Operation } from "./cluster-clients.ts";
import type { World } from "./cluster-world.ts";

const lookMs = 50;

interface Reign {
  /** When the instance was seen to lead first, by `performance.now()`. */
  readonly at: number;
  readonly leader: TestInstance | null;
}

export class LeaderWatch {
  /** The changes of the term, in order. */
  readonly terms: TermChange[] = [];
  readonly #reigns: Reign[] = [];
  readonly #world: World;
  readonly #client: SQL;
  #isOn = true;
  readonly #running: Promise<void>;

  constructor(world: World) {
    this.#world = world;
    this.#client = world.engine.client();
    this.#running = this.#watch();
  }

  /** The instance that had the lease at the last look. */
  get leader(): TestInstance | null {
    return this.#reigns.at(-1)?.leader ?? null;
  }

  /** The instance that led at a moment. */
  at(moment: number): TestInstance | null {
    return this.#reigns.findLast(({ at }) => at <= moment)?.leader ?? null;
  }

  /** Ends the watch. The engine must answer. */
  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #watch(): Promise<void> {
    let term = 0;
    let lookedAt = Date.now();
    while (this.#isOn) {
      const askedAt = Date.now();
      const [row] = await this.#client`SELECT address, term FROM socle_leader`.catch(() => []);
      if (row !== undefined) {
        const leader = this.#world.instances.find(({ url }) => url === row.address) ?? null;
        if (leader !== this.leader) this.#reigns.push({ at: performance.now(), leader });
        if (Number(row.term) !== term) this.terms.push({ from: lookedAt, until: Date.now() });
        term = Number(row.term);
        lookedAt = askedAt;
      }
      await Bun.sleep(lookMs);
    }
  }
}

export interface TakeOvers {
  /** Milliseconds from each loss of a leader to the first acknowledged change, with nothing else broken meanwhile. */
  readonly alone: readonly number[];
  /** The same, with other faults meanwhile. */
  readonly among: readonly number[];
}

/** The losses of a leader: killed, stopped, or paused until another instance led. */
export function takeOversOf(
  faults: readonly Fault[],
  operations: readonly Operation[],
  leaders: LeaderWatch,
): TakeOvers {
  const acknowledged = operations.filter(({ outcome }) => outcome === "acknowledged");
  const alone: number[] = [];
  const among: number[] = [];
  for (const fault of faults) {
    const { kind, victim, wasLeader, from } = fault;
    if (!wasLeader || !kind.startsWith("instance")) continue;
    let first = Number.POSITIVE_INFINITY;
    for (const { sentAt, answeredAt } of acknowledged) if (sentAt > from && answeredAt < first) first = answeredAt;
    if (!Number.isFinite(first)) continue;
    if (kind === "instance paused" && leaders.at(first) === victim) continue;
    const others = faults.filter((other) => other !== fault && other.from < first && other.until > from);
    (others.length === 0 ? alone : among).push(first - from);
  }
  return { alone, among };
}

/** The median, and the largest of some times. */
export function spread(times: readonly number[]): { count: number; median: number; longest: number } {
  const sorted = times.toSorted((a, b) => a - b);
  return { count: sorted.length, median: sorted[Math.floor(sorted.length / 2)] ?? 0, longest: sorted.at(-1) ?? 0 };
}
