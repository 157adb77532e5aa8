/**
 * The cluster suite: a cluster under load and random faults, for some minutes; afterwards the databases of all instances, the histories of the clients and
 * the events heard are compared. The long form is `npm run test:cluster`, the short form is a test.
 */
import { cpus } from "node:os";
import { differences } from "../cluster-content.ts";
import { until } from "../kit.ts";
import { Breaks, type Fault, kinds, rewrites } from "./cluster-breaks.ts";
import { checks, type Found, type Known } from "./cluster-checks.ts";
import { Clients, Gate, pick } from "./cluster-clients.ts";
import { evidenceOf, waitingAt } from "./cluster-evidence.ts";
import { LeaderWatch, spread, type TakeOvers, takeOversOf } from "./cluster-leaders.ts";
import { Listeners } from "./cluster-listeners.ts";
import { Sessions } from "./cluster-sessions.ts";
import type { World } from "./cluster-world.ts";

/** The acknowledged changes between two bursts of faults, and the longest wait for the changes. */
const between = 20;
const betweenMs = 120_000;
/** The most faults of a burst, and the longest pause between two faults of a burst. */
const burst = 6;
const faultEveryMs = 1_200;
/** So many problems say enough. */
const maxProblems = 20;

export interface Outcome {
  readonly faults: readonly Fault[];
  readonly refusedStarts: number;
  readonly known: Known;
  readonly found: Readonly<Record<string, Found>>;
  readonly takeOvers: TakeOvers;
  readonly reads: Clients["reads"];
  readonly sessions: Sessions["counts"];
  readonly moves: number;
  readonly seconds: number;
  readonly problems: readonly string[];
}

class Suite {
  readonly #world: World;
  readonly #random: () => number;
  readonly #leaders: LeaderWatch;
  readonly #breaks: Breaks;
  readonly #clients: Clients;
  readonly #listeners: Listeners;
  readonly #sessions: Sessions;
  readonly #gate = new Gate();
  readonly #start = performance.now();
  readonly #problems: string[] = [];

  constructor(world: World, random: () => number) {
    this.#world = world;
    this.#random = random;
    this.#leaders = new LeaderWatch(world);
    this.#breaks = new Breaks(world, this.#leaders, random);
    this.#listeners = new Listeners(world, random, this.#gate);
    this.#clients = new Clients(world, random, this.#gate);
    this.#sessions = new Sessions(world, random, this.#gate);
  }

  get problems(): readonly string[] {
    return [...this.#problems, ...this.#breaks.problems, ...this.#clients.problems, ...this.#sessions.problems];
  }

  get faults(): number {
    return this.#breaks.made.length;
  }

  /** Some faults, then the writes go on. A burst of a single fault takes the leader. */
  async burst(): Promise<void> {
    const size = 1 + Math.floor(this.#random() * burst);
    for (let i = 0; i < size; i++) {
      this.#breaks.make(size === 1);
      if (i < size - 1) await Bun.sleep(this.#random() * faultEveryMs);
    }
    await this.#breaks.healed();
    await this.#writes();
  }

  /** The journal loses acknowledged changes, and the cluster is mended. */
  async rewrite(): Promise<void> {
    await this.#breaks.rewrite(pick(rewrites, this.#random), { gate: this.#gate, writes: () => this.#writes() });
    await this.#writes();
  }

  /** Waits for acknowledged changes that were sent from now on. */
  async #writes(): Promise<void> {
    const now = performance.now();
    while (this.#clients.acknowledgedAfter(now) < between) {
      if (performance.now() > now + betweenMs) {
        this.#problems.push(`${between} changes were not acknowledged within ${betweenMs} ms after the faults`);
        return;
      }
      await Bun.sleep(20);
    }
  }

  async finish(): Promise<Outcome> {
    await this.#breaks.healed();
    await Promise.all([this.#clients.stop(), this.#sessions.stop()]);
    const { instances } = this.#world;
    for (const { url } of instances)
      while ((await fetch(`${url}/health/ready`).catch(() => null))?.status !== 200) await Bun.sleep(50);
    const [first] = instances;
    if (first === undefined) throw new Error("The world has no instances");
    const end = performance.now() + betweenMs;
    while (waitingAt(first) > 0 && performance.now() < end) await Bun.sleep(100);
    await this.#leaders.stop();
    await this.#listeners.stop(evidenceOf(first).events);
    const unequal = (await differences(instances)).map((name) => `the instances have other rows in ${name}`);
    const evidence = evidenceOf(first);
    const known: Known = {
      operations: this.#clients.operations,
      evidence,
      listeners: this.#listeners.all.map(({ name, hears, hearer: { heard, problems } }) => ({
        name,
        hears,
        heard,
        problems,
      })),
      terms: this.#leaders.terms,
    };
    const found = Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, check(known)]));
    const problems = [
      ...this.problems,
      ...unequal,
      ...(await this.#lookOver(known)),
      ...Object.entries(found).flatMap(([name, each]) => each.problems.map((problem) => `${name}: ${problem}`)),
    ];
    return {
      faults: this.#breaks.made,
      refusedStarts: this.#breaks.refusedStarts,
      known,
      found,
      takeOvers: takeOversOf(this.#breaks.made, known.operations, this.#leaders),
      reads: this.#clients.reads,
      sessions: this.#sessions.counts,
      moves: this.#listeners.moves,
      seconds: (performance.now() - this.#start) / 1_000,
      problems: problems.slice(0, maxProblems),
    };
  }

  /** Over HTTP, each instance has the counted records as the database has, and as many records. */
  async #lookOver({ evidence }: Known): Promise<string[]> {
    const problems: string[] = [];
    const headers = { Authorization: `Bearer ${this.#world.admin.token}` };
    for (const { url } of this.#world.instances) {
      for (const { id, value } of evidence.tallies) {
        const answer = (await read(`${url}/api/tallies/${id}`, headers)) as { value: number };
        if (answer.value !== value) problems.push(`${url} has ${answer.value} in ${id} in place of ${value}`);
      }
      for (let i = 0; i < 50 && evidence.items.length > 0; i++) {
        const { n, serial } = pick(evidence.items, this.#random);
        const filter = encodeURIComponent(`serial = ${serial}`);
        const list = await read(`${url}/api/items?filter=${filter}`, headers);
        const numbers = (list as { items: { n: number }[] }).items.map((item) => item.n);
        if (numbers.join() !== String(n))
          problems.push(`${url} has ${numbers.join()} as number ${serial} in place of ${n}`);
      }
    }
    return problems;
  }
}

/** The JSON of an answer. An instance whose role changes on a busy machine does not listen for a moment. @throws Error for an instance that does not come back. */
async function read(url: string, headers: Record<string, string>): Promise<unknown> {
  let answer: Response | null = null;
  await until(async () => {
    answer = await fetch(url, { headers }).catch(() => null);
    return answer !== null && answer.status !== 503;
  });
  return (answer as Response | null)?.json();
}

/** Lets a cluster suffer. @param options `random` decides all choices; `rewriteChance`: of a rewrite of the journal in place of a burst; `onFaults` is told of the number of faults after each burst. */
export async function endure(
  world: World,
  {
    minutes,
    random,
    rewriteChance = 0,
    onFaults = () => undefined,
  }: { minutes: number; random: () => number; rewriteChance?: number; onFaults?: (faults: number) => void },
): Promise<Outcome> {
  const suite = new Suite(world, random);
  const end = performance.now() + minutes * 60_000;
  while (performance.now() < end && suite.problems.length === 0) {
    if (random() < rewriteChance) await suite.rewrite();
    else await suite.burst();
    onFaults(suite.faults);
  }
  return suite.finish();
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** The measures of a run, as a table. */
export function tableOf({
  faults,
  refusedStarts,
  found,
  takeOvers,
  reads,
  sessions,
  moves,
  seconds,
  problems,
}: Outcome): string {
  const [alone, among] = [spread(takeOvers.alone), spread(takeOvers.among)];
  const times = ({ count, median, longest }: ReturnType<typeof spread>): string =>
    `${count}; ${number(median)} ms; ${number(longest)} ms`;
  const rows: [string, string][] = [
    ...[...kinds, ...rewrites].map((kind): [string, string] => [
      `faults: ${kind}`,
      number(faults.filter((each) => each.kind === kind).length),
    ]),
    ["faults in all", number(faults.length)],
    ["faults of the leader among these", number(faults.filter(({ wasLeader }) => wasLeader).length)],
    ["starts refused meanwhile, and tried again", number(refusedStarts)],
    ["take-overs with no other fault: number; median; longest", times(alone)],
    ["take-overs among other faults: number; median; longest", times(among)],
    ...Object.entries(found).map(([name, { counts }]): [string, string] => [name, counts]),
    ["reads with a position at another instance: found; refused", `${number(reads.found)}; ${number(reads.refused)}`],
    [
      "sessions ended; their tokens refused; not answered",
      `${number(sessions.ended)}; ${number(sessions.refused)}; ${number(sessions.unanswered)}`,
    ],
    ["subscriptions of the 30 listeners", number(moves)],
    ["promises broken", number(problems.length)],
  ];
  const head = `${cpus().length} cores, shared with other work, ${number(seconds)} s:`;
  return [head, "", "| | |", "| --- | --- |", ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join("\n");
}
