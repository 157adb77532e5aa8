/**
 * Clients of the cluster suite: eight writers with known histories, which send each request to a random instance and remember whether the change
 * was acknowledged, refused, or is unknown. The clients read some of their records again, at another instance.
 */
import { send, type Told } from "../cluster-load.ts";
import type { User, World } from "./cluster-world.ts";

const kinds = ["create", "increment", "batch", "enqueue"] as const;
type Kind = (typeof kinds)[number];

/** A change that a client asked for. The number `n` stands in all records of the change. */
export interface Operation extends Omit<Told, "body"> {
  readonly n: number;
  readonly kind: Kind;
  /** The record that the change counts in; empty for a change that counts nothing. */
  readonly tally: string;
  /** The id of the run, if the change was acknowledged and enqueued a run. */
  readonly run: string;
}

/** The longest wait of a client for an answer, and between two requests. */
const answerMs = 4_000;
const pauseMs = 80;

/** Gate of a load: holds up the loops of the load at a moment at which no request is under way. */
export class Gate {
  #shut: PromiseWithResolvers<void> | null = null;
  readonly #working = new Set<Promise<unknown>>();

  /** Runs a turn of a loop, as soon as the gate is open. */
  async run<T>(turn: () => Promise<T>): Promise<T> {
    while (this.#shut !== null) await this.#shut.promise;
    const working = turn();
    this.#working.add(working);
    try {
      return await working;
    } finally {
      this.#working.delete(working);
    }
  }

  /** Resolves when no turn runs. */
  async shut(): Promise<void> {
    this.#shut ??= Promise.withResolvers<void>();
    await Promise.allSettled(this.#working);
  }

  open(): void {
    this.#shut?.resolve();
    this.#shut = null;
  }
}

export class Clients {
  readonly operations: Operation[] = [];
  /** Reads with the position of a write, at another instance. */
  readonly reads = { found: 0, refused: 0 };
  /** Answers that no client may get. */
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #random: () => number;
  #next = 1;
  #isOn = true;
  readonly #running: Promise<unknown>;

  constructor(world: World, random: () => number, gate: Gate) {
    this.#world = world;
    this.#random = random;
    this.#running = Promise.all(world.users.map((user) => this.#write(user, gate)));
  }

  /** The number of acknowledged changes that were sent after a moment, by `performance.now()`. */
  acknowledgedAfter(moment: number): number {
    let count = 0;
    // The newest changes stand at the end, in the order of the answers.
    for (let i = this.operations.length - 1; i >= 0; i--) {
      const each = this.operations[i];
      if (each === undefined || each.answeredAt < moment) break;
      if (each.outcome === "acknowledged" && each.sentAt > moment) count += 1;
    }
    return count;
  }

  /** Ends the load, and waits for the last answers. */
  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #write(user: User, gate: Gate): Promise<void> {
    while (this.#isOn) {
      const chance = this.#random();
      const kind = chance < 0.45 ? "create" : chance < 0.75 ? "increment" : chance < 0.9 ? "batch" : "enqueue";
      const done = await gate.run(async () => {
        const change = await this.#change(kind, user);
        const isRead = kind === "create" && change.outcome === "acknowledged" && this.#random() < 0.2;
        if (isRead) await this.#read(change, user);
        return change;
      });
      await Bun.sleep(this.#random() * (done.outcome === "acknowledged" ? pauseMs : 3 * pauseMs));
    }
  }

  async #change(kind: Kind, { token }: User): Promise<Operation & { id: string }> {
    const n = this.#next++;
    const tally = this.#pick(this.#world.tallies);
    const counting = { n, value: { $increment: 1 } };
    const common = { ms: answerMs, token };
    const sent = {
      create: { ...common, method: "POST", path: "/api/items", body: { n, part: n % 2 } },
      increment: { ...common, method: "PUT", path: `/api/tallies/${tally}`, body: counting },
      batch: {
        ...common,
        method: "POST",
        path: "/api/batch",
        body: {
          operations: [
            ...[0, 1].map((part) => ({ method: "create", collection: "items", body: { n, part } })),
            { method: "update", collection: "tallies", id: tally, body: counting },
          ],
        },
      },
      enqueue: {
        ms: answerMs,
        token: this.#world.admin.token,
        method: "POST",
        path: "/api/admin/jobs/work/enqueue",
        body: { payload: { n } },
      },
    } as const;
    const { body, ...told } = await send(this.#pick(this.#world.instances), sent[kind]);
    const { id = "", runId: run = "" } = (body ?? {}) as { id?: string; runId?: string };
    const operation = { ...told, n, kind, tally: kind === "increment" || kind === "batch" ? tally : "", run };
    this.operations.push(operation);
    if (told.outcome !== "acknowledged" && !/^503 |^[A-Z]\w*Error|^Error/.test(told.told))
      this.problems.push(`${kind} ${n}: ${told.told}`);
    return { ...operation, id };
  }

  /** A read with the position of a write finds the write at any instance. */
  async #read({ n, id, position }: Operation & { id: string }, { token }: User): Promise<void> {
    const { url } = this.#pick(this.#world.instances);
    const headers = { Authorization: `Bearer ${token}`, "Socle-Position": String(position) };
    const signal = AbortSignal.timeout(answerMs);
    const text = await fetch(`${url}/api/items/${id}`, { headers, signal }).then(
      async (answer) => `${answer.status} ${await answer.text()}`,
      () => "503 broken",
    );
    if (text.startsWith("503 ")) this.reads.refused += 1;
    else if (text.startsWith("200 ") && (JSON.parse(text.slice(4)) as { n: number }).n === n) this.reads.found += 1;
    else this.problems.push(`${url} has position ${position}, and answers ${text} for ${id} with ${n}`);
  }

  #pick<T>(list: readonly T[]): T {
    return pick(list, this.#random);
  }
}

/** A random item of a list. */
export function pick<T>(list: readonly T[], random: () => number): T {
  const found = list[Math.floor(random() * list.length)];
  if (found === undefined) throw new Error("The list is empty");
  return found;
}
