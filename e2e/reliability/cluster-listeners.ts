/**
 * Listeners of the cluster suite: sockets that move from instance to instance, and resume with `since`. Listeners hear the load's collections by the
 * rule of the owner, as an admin, by a filter, and without an account.
 */
import { Hearer } from "../cluster-hearer.ts";
import { type Gate, pick } from "./cluster-clients.ts";
import { type HeardEvent, partOf } from "./cluster-evidence.ts";
import type { World } from "./cluster-world.ts";

/** The longest wait for a subscription, and the longest stay at an instance. */
const connectMs = 4_000;
const stayMs = 10_000;
const lookMs = 50;

export interface Listener {
  readonly name: string;
  readonly hearer: Hearer;
  /** Whether the listener has to hear an event. */
  readonly hears: (event: HeardEvent) => boolean;
}

function listenersOf({ users, admin, since }: World): Listener[] {
  const own = [...users, ...users].map((user, i) => ({
    name: `own ${i}`,
    hearer: new Hearer({ channel: "items.*", token: user.token, since, partOf }),
    hears: ({ type, owner }: HeardEvent) => type.startsWith("items.") && owner === user.id,
  }));
  const all = Array.from({ length: 5 }, (_, i) => ({
    name: `all ${i}`,
    hearer: new Hearer({ channel: "items.*", token: admin.token, since, partOf }),
    hears: ({ type }: HeardEvent) => type.startsWith("items."),
  }));
  const filtered = Array.from({ length: 5 }, (_, i) => ({
    name: `filtered ${i}`,
    hearer: new Hearer({ channel: "items.*", filter: "part = 0", token: admin.token, since, partOf }),
    hears: ({ type, part }: HeardEvent) => type.startsWith("items.") && part === 0,
  }));
  const open = Array.from({ length: 4 }, (_, i) => ({
    name: `open ${i}`,
    hearer: new Hearer({ channel: "tallies.updated", since, partOf }),
    hears: ({ type }: HeardEvent) => type === "tallies.updated",
  }));
  return [...own, ...all, ...filtered, ...open];
}

export class Listeners {
  readonly all: readonly Listener[];
  /** Subscriptions that an instance has accepted. */
  moves = 0;
  readonly #world: World;
  readonly #random: () => number;
  readonly #running: Promise<unknown>;
  #isOn = true;

  constructor(world: World, random: () => number, gate: Gate) {
    this.all = listenersOf(world);
    this.#world = world;
    this.#random = random;
    this.#running = Promise.all(this.all.map((listener) => this.#move(listener, gate)));
  }

  async #move({ hearer }: Listener, gate: Gate): Promise<void> {
    while (this.#isOn) {
      // A socket cannot resume in another history.
      await gate.run(() => this.#connect(hearer));
      const end = performance.now() + this.#random() * stayMs;
      while (this.#isOn && hearer.isConnected && performance.now() < end) await Bun.sleep(lookMs);
    }
  }

  async #connect(hearer: Hearer): Promise<void> {
    const { url } = pick(this.#world.instances, this.#random);
    if (await Promise.race([hearer.connect(url), Bun.sleep(connectMs)])) this.moves += 1;
    else await Bun.sleep(lookMs);
  }

  /** Ends the moves, and waits until each listener has heard as many events as the log has for the listener, or some seconds. */
  async stop(log: readonly HeardEvent[]): Promise<void> {
    this.#isOn = false;
    await this.#running;
    const end = performance.now() + 60_000;
    for (const { hearer, hears } of this.all) {
      const count = log.filter(hears).length;
      while (hearer.heard.length < count && performance.now() < end) {
        if (!hearer.isConnected) await this.#connect(hearer);
        await Bun.sleep(lookMs);
      }
    }
    for (const { hearer } of this.all) hearer.break();
  }
}
