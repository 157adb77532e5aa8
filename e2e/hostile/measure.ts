/** The measures of the hostile suite: the service's process and folder, and a bystander's requests meanwhile. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The process and its folder at a moment. Sizes are in MiB. */
export interface Sample {
  readonly memory: number;
  readonly descriptors: number;
  readonly disk: number;
  readonly log: number;
}

const mib = 1024 ** 2;

/** The bytes of all files in a folder. */
async function bytesOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const item of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!item.isFile()) continue;
    // The file may be gone by now.
    bytes += (await stat(join(item.parentPath, item.name)).catch(() => null))?.size ?? 0;
  }
  return bytes;
}

/** @param pid of the service; @param folder the project. */
export async function sample(pid: number, folder: string): Promise<Sample> {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const log = join(folder, "socle.db-wal");
  return {
    memory: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    disk: (await bytesOf(folder)) / mib,
    log: existsSync(log) ? statSync(log).size / mib : 0,
  };
}

/** Looks at the service a few times a second, and remembers the most of each measure. */
export class Peaks {
  readonly #take: () => Promise<Sample>;
  readonly #timer: Timer;
  #most: Sample = { memory: 0, descriptors: 0, disk: 0, log: 0 };
  #taking: Promise<void> = Promise.resolve();

  constructor(take: () => Promise<Sample>) {
    this.#take = take;
    this.#timer = setInterval(() => {
      this.#taking = this.#look();
    }, 100);
  }

  async stop(): Promise<Sample> {
    clearInterval(this.#timer);
    await this.#taking;
    await this.#look();
    return this.#most;
  }

  async #look(): Promise<void> {
    const now = await this.#take();
    const most = this.#most;
    this.#most = {
      memory: Math.max(most.memory, now.memory),
      descriptors: Math.max(most.descriptors, now.descriptors),
      disk: Math.max(most.disk, now.disk),
      log: Math.max(most.log, now.log),
    };
  }
}

/** The duration of a bystander's requests in milliseconds, by kind of request. */
export interface Latencies {
  readonly read: number[];
  /** Lists of a collection of 50 records with a filter that no index answers. */
  readonly filter: number[];
  readonly write: number[];
  readonly health: number[];
  /** Requests with a wrong answer: the status and the request. */
  readonly failures: string[];
}

/**
 * A harmless client: reads, filters, writes and asks after the service's health, in turn.
 */
export class Bystander {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #path: string;
  readonly latencies: Latencies = { read: [], filter: [], write: [], health: [], failures: [] };
  #isOver = false;
  #running: Promise<void>;

  constructor(options: { url: string; token: string; record: string }) {
    this.#url = options.url;
    this.#path = `/api/notes/${options.record}`;
    this.#headers = {
      Authorization: `Bearer ${options.token}`,
      "Content-Type": "application/json",
      "X-Forwarded-For": "198.51.100.1",
    };
    this.#running = this.#run();
  }

  async stop(): Promise<Latencies> {
    this.#isOver = true;
    await this.#running;
    return this.latencies;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#ask("read", { path: this.#path, headers: this.#headers }, 200);
      // Each filter is a new text: no answer comes from the cache.
      const filter = encodeURIComponent(`text ~ "not there ${performance.now()}"`);
      await this.#ask("filter", { path: `/api/few?filter=${filter}`, headers: this.#headers }, 200);
      const body = JSON.stringify({ text: "from a bystander" });
      await this.#ask("write", { path: "/api/notes", method: "POST", headers: this.#headers, body }, 201);
      await this.#ask("health", { path: "/health", headers: this.#headers }, 200);
      await Bun.sleep(10);
    }
  }

  async #ask(
    kind: "read" | "filter" | "write" | "health",
    { path, ...init }: RequestInit & { path: string },
    expected: number,
  ): Promise<void> {
    const start = performance.now();
    try {
      const answer = await fetch(`${this.#url}${path}`, init);
      const text = await answer.text();
      if (answer.status !== expected) this.latencies.failures.push(`${kind}: ${answer.status} ${text}`);
    } catch (thrown) {
      this.latencies.failures.push(`${kind}: ${String(thrown)}`);
    }
    this.latencies[kind].push(performance.now() - start);
  }
}

/** The value below which `part` of the values lie. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
