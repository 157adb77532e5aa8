/** The overview: the state of the service at a glance, for admins and for Prometheus. */
import type { Overview } from "@socle/protocol";
import { freeBytes, nextTurn, toTimestamp } from "../../base/kernel/index.ts";
import { droppedRows } from "../../data/collections/index.ts";
import type { OverviewSources } from "./metrics-text.ts";
import type { ProcessNumbers } from "./process-numbers.ts";
import { RunMeter } from "./run-meter.ts";
import type { Status } from "./status.ts";

const hourMs = 3_600_000;
/** The sizes of seven days, an hour apart, and of now. */
const maxSizes = 7 * 24;

export class Overviews {
  readonly #sources: OverviewSources;
  readonly #runs: RunMeter;
  readonly #status: Status;
  readonly #startedAt = Date.now() - performance.now();
  /** The size of the data at each hour since the start, oldest first. */
  #sizes: { readonly at: number; readonly bytes: number }[] = [];

  constructor(sources: OverviewSources, status: Status) {
    this.#sources = sources;
    this.#status = status;
    this.#runs = new RunMeter(sources.events);
  }

  /** Notes the size of the data each hour until the signal. */
  start(signal: AbortSignal): void {
    this.#noteSize();
    const timer = setInterval(() => this.#noteSize(), hourMs);
    timer.unref();
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  #noteSize(): void {
    this.#sizes = [...this.#sizes, { at: Date.now(), bytes: this.#bytes() }].slice(-maxSizes);
  }

  #bytes(): number {
    const { database, log } = this.#sources.database.sizes();
    return database + log + this.#sources.storage.totals().size;
  }

  async now(): Promise<Overview> {
    const { version, database, storage, functions, jobs, realtime, meter, auth } = this.#sources;
    const deliveries = functions.queue();
    const queues = jobs.queues.list().map(({ name }) => jobs.queues.counts(name).failed);
    const { total } = auth.users.search({ limit: 0, offset: 0 });
    const { database: size, log: walSize } = database.sizes();
    const others = [...((await this.#sources.otherProcesses?.()) ?? new Map<number, ProcessNumbers>()).values()];
    return {
      version,
      startedAt: new Date(this.#startedAt).toISOString(),
      uptime: Math.round((Date.now() - this.#startedAt) / 1_000),
      residentMemory: others.reduce((sum, { residentBytes }) => sum + residentBytes, process.memoryUsage.rss()),
      database: { size, walSize },
      disk: { free: await leastFree(this.#sources.disks), growth: this.#growth() },
      backup: this.#backup(),
      storage: storage.totals(),
      collections: await this.#counts(),
      requests: meter.lastHour(),
      week: meter.lastWeek(),
      sockets: others.reduce((sum, { sockets }) => sum + sockets, realtime.sockets),
      deliveries,
      failedRuns: {
        functions: deliveries.failed,
        jobs: jobs.failedRuns(),
        queues: queues.reduce((sum, failed) => sum + failed, 0),
      },
      users: total,
      dropped: droppedRows(database.reader).reduce((sum, { kept }) => sum + kept, 0),
      cluster: (await this.#sources.cluster?.overview()) ?? null,
    };
  }

  #growth(): Overview["disk"]["growth"] {
    const now = { at: Date.now(), bytes: this.#bytes() };
    const [{ at, bytes } = now] = this.#sizes;
    return { since: toTimestamp(at), bytes: now.bytes - bytes };
  }

  #backup(): Overview["backup"] {
    const { backups } = this.#sources;
    const { last, lastError } = backups.totals();
    const behind = backups.continuous === null ? null : backups.continuous.behindMs / 1_000;
    return { last: last === null ? null : toTimestamp(last.endedAt), error: lastError, behind };
  }

  /** In the text format of Prometheus, version 0.0.4. */
  async metrics(): Promise<string> {
    const { metricsText, statusMetrics } = await import("./metrics-text.ts");
    return `${await metricsText(await this.now(), this.#sources, this.#runs)}${statusMetrics(await this.#status.now())}`;
  }

  async #counts(): Promise<Overview["collections"]> {
    const counts: Overview["collections"] = [];
    for (const { name } of this.#sources.collections.all()) {
      // The collection may have gone meanwhile.
      const collection = this.#sources.collections.get(name);
      if (collection === undefined) continue;
      counts.push({ name, records: this.#sources.records.count(collection) });
      await nextTurn();
    }
    return counts;
  }
}

/** Free bytes of the fullest disk; null for no disk that tells. */
async function leastFree(disks: readonly string[]): Promise<number | null> {
  const free = await Promise.all(disks.map((path) => freeBytes(path).catch(() => null)));
  return free.reduce((least, each) => (each === null || (least !== null && least < each) ? least : each), null);
}
