/**
 * Breaks of the cluster suite: random faults of instances, of the ways to the engine, and of the engine. Each fault heals by itself after a random time;
 * faults of different victims overlap.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestInstance } from "../cluster-kit.ts";
import { type Gate, pick } from "./cluster-clients.ts";
import { rewriteJournal } from "./cluster-rewrites.ts";
import { newerText, olderFile, type World } from "./cluster-world.ts";

export const kinds = [
  "instance killed",
  "instance paused",
  "instance stopped",
  "connections cut",
  "way held",
  "engine restarted",
  "engine crashed",
  "engine paused",
  "older files",
] as const;
/** Faults of the whole cluster, after which an operator has to decide. */
export const rewrites = ["engine set back", "journal forked"] as const;
type Kind = (typeof kinds)[number] | (typeof rewrites)[number];

export interface Fault {
  readonly kind: Kind;
  /** Null for a fault of the engine. */
  readonly victim: TestInstance | null;
  /** Whether the victim led as the fault began. */
  readonly wasLeader: boolean;
  /** Times by `performance.now()`; the fault has healed at `until`. */
  readonly from: number;
  until: number;
}

/** Knows the instance that leads now. */
interface Leaders {
  readonly leader: TestInstance | null;
}

/** Some kinds come more often. */
const chances: readonly Kind[] = [
  ...(["instance killed", "instance paused", "instance stopped", "connections cut", "way held"] as const),
  ...kinds,
  ...(["instance killed", "connections cut"] as const),
];
/** Reasons of a refused start that is tried again, as a service manager does. */
const mayRefuse = /cluster\.journal: |another instance has this address/;

export class Breaks {
  readonly made: Fault[] = [];
  readonly problems: string[] = [];
  /** Starts that ended because the engine could not be reached, or because the row of a killed process still counted. */
  refusedStarts = 0;
  readonly #world: World;
  readonly #random: () => number;
  readonly #leaders: Leaders;
  /** The victims of faults that have not healed: instances, ways, the engine. */
  readonly #broken = new Set<object>();
  readonly #healing = new Set<Promise<void>>();

  constructor(world: World, leaders: Leaders, random: () => number) {
    this.#world = world;
    this.#leaders = leaders;
    this.#random = random;
    for (const instance of world.instances) this.#watch(instance);
  }

  /** Makes a fault: of the leader if `ofLeader`, so that another instance has to lead. */
  make(ofLeader = false): void {
    const kind = ofLeader
      ? pick(["instance killed", "instance stopped"] as const, this.#random)
      : pick(chances, this.#random);
    const { leader } = this.#leaders;
    const isEngine = kind.startsWith("engine");
    const victim = isEngine ? null : ofLeader ? leader : this.#victim();
    if (!isEngine && victim === null) return;
    const target =
      victim === null
        ? this.#world.engine
        : kind === "older files" || kind.startsWith("instance")
          ? victim
          : victim.proxy;
    if (this.#broken.has(target)) return;
    const fault: Fault = {
      kind,
      victim,
      wasLeader: victim !== null && victim === leader,
      from: performance.now(),
      until: Number.POSITIVE_INFINITY,
    };
    this.made.push(fault);
    this.#broken.add(target);
    const healing = this.#break(fault)
      .catch((thrown: unknown) => void this.problems.push(`${kind}: ${String(thrown)}`))
      .finally(() => {
        fault.until = performance.now();
        this.#broken.delete(target);
        this.#healing.delete(healing);
      });
    this.#healing.add(healing);
  }

  /** Resolves when every fault has healed. */
  async healed(): Promise<void> {
    while (this.#healing.size > 0) await Promise.all(this.#healing);
  }

  /** The leader in half of the cases. */
  #victim(): TestInstance {
    const { leader } = this.#leaders;
    return leader !== null && this.#random() < 0.5 ? leader : pick(this.#world.instances, this.#random);
  }

  /** Resolves when the fault has healed. */
  async #break({ kind, victim }: Fault): Promise<void> {
    const { engine } = this.#world;
    if (victim === null) {
      if (kind === "engine paused") {
        engine.pause();
        await this.#pass(0.3, 8);
        engine.resume();
      } else {
        await engine.stop(kind === "engine restarted" ? "fast" : "immediate");
        await this.#pass(0, 2);
        await engine.start();
      }
    } else if (kind === "connections cut") victim.proxy.cut();
    else if (kind === "way held") {
      victim.proxy.stall();
      await this.#pass(0.3, 7);
      victim.proxy.flow();
    } else if (kind === "instance paused") {
      victim.running.signal("SIGSTOP");
      await this.#pass(0.5, 9);
      victim.running.signal("SIGCONT");
    } else if (kind === "older files") await this.#followWithOlderFiles(victim);
    else {
      victim.running.signal(kind === "instance killed" ? "SIGKILL" : "SIGTERM");
      const code = await victim.running.exited;
      if (kind === "instance stopped" && code !== 0) this.problems.push(`${victim.url} stopped with ${code}`);
      await this.#pass(0, 1.5);
      await this.#start(victim);
    }
  }

  /** An instance with files that were superseded follows, and never leads; afterwards the instance has the files in force again. */
  async #followWithOlderFiles(victim: TestInstance): Promise<void> {
    const stop = async (): Promise<void> => {
      victim.running.signal("SIGTERM");
      const code = await victim.running.exited;
      if (code !== 0) this.problems.push(`${victim.url} stopped with ${code}`);
    };
    await stop();
    writeFileSync(join(victim.folder, olderFile.path), olderFile.text);
    await this.#start(victim);
    await this.#pass(0.5, 6);
    if (victim.running.output().includes("This instance leads, in term"))
      this.problems.push(`${victim.url} has led with files that were superseded`);
    await stop();
    writeFileSync(join(victim.folder, olderFile.path), newerText);
    await this.#start(victim);
  }

  /**
   * PostgreSQL goes back to a moment before acknowledged changes; in a fork, an instance without the changes leads from there. All other instances serve
   * nothing then, and the state with the changes is adopted. Nothing else is broken meanwhile.
   * @param load holds up the load while the journal has no state with all acknowledged changes; `writes` waits for acknowledged changes.
   */
  async rewrite(
    kind: (typeof rewrites)[number],
    load: { readonly gate: Gate; readonly writes: () => Promise<void> },
  ): Promise<void> {
    const { instances } = this.#world;
    const fault: Fault = {
      kind,
      victim: null,
      wasLeader: false,
      from: performance.now(),
      until: Number.POSITIVE_INFINITY,
    };
    this.made.push(fault);
    for (const instance of instances) this.#broken.add(instance);
    try {
      const late =
        kind === "journal forked"
          ? pick(
              instances.filter((each) => each !== this.#leaders.leader),
              this.#random,
            )
          : null;
      this.problems.push(...(await rewriteJournal(this.#world, { ...load, late })));
    } catch (thrown) {
      this.problems.push(`${kind}: ${String(thrown)}`);
    } finally {
      load.gate.open();
      fault.until = performance.now();
      for (const instance of instances) {
        this.#broken.delete(instance);
        this.#watch(instance);
      }
    }
  }

  async #start(instance: TestInstance): Promise<void> {
    for (;;) {
      try {
        await instance.start();
        this.#watch(instance);
        return;
      } catch (thrown) {
        if (!mayRefuse.test(String(thrown))) throw thrown;
        this.refusedStarts += 1;
        await this.#pass(0.2, 1);
      }
    }
  }

  /** An instance that ends by itself breaks a promise. */
  #watch(instance: TestInstance): void {
    const { running } = instance;
    void running.exited.then((code) => {
      if (!this.#broken.has(instance) && instance.running === running)
        this.problems.push(`${instance.url} has ended by itself with ${code}`);
    });
  }

  #pass(least: number, most: number): Promise<void> {
    return Bun.sleep((least + this.#random() * (most - least)) * 1_000);
  }
}
