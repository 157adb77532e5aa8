/** The overview: the state of the service at one look, for admins and for Prometheus. */
import type { Overview } from "@socle/protocol";
import type { Users } from "../auth/index.ts";
import type { Backups } from "../backup/index.ts";
import type { Collections } from "../collections/index.ts";
import type { Database } from "../database/index.ts";
import type { Endpoints } from "../endpoints/index.ts";
import type { EventLog } from "../events/index.ts";
import type { Functions } from "../functions/index.ts";
import type { Jobs } from "../jobs/index.ts";
import { freeBytes, nextTurn, openDescriptors } from "../kernel/index.ts";
import type { EventLoopLag, LimitMeter, RequestMeter } from "../logging/index.ts";
import type { Realtime } from "../realtime/index.ts";
import type { Records } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";
import { RunMeter } from "./run-meter.ts";

export interface OverviewOptions {
  version: string;
  database: Database;
  collections: Collections;
  records: Records;
  users: Users;
  storage: Storage;
  functions: Functions;
  jobs: Jobs;
  endpoints: Endpoints;
  events: EventLog;
  lag: EventLoopLag;
  /** Paths whose disks the service writes to. */
  disks: readonly string[];
  /** Why the service is not ready; empty when it is. */
  readiness: () => Promise<readonly string[]>;
  /** How often the process of the user's code was lost. */
  processesLost: () => number;
  realtime: Realtime;
  meter: RequestMeter;
  limits: LimitMeter;
  backups: Backups;
}

/** How the service is doing, at one look; and the same as metrics. */
export class Overviews {
  readonly #options: OverviewOptions;
  readonly #runs: RunMeter;
  readonly #startedAt = Date.now() - performance.now();

  constructor(options: OverviewOptions) {
    this.#options = options;
    this.#runs = new RunMeter(options.events);
  }

  async now(): Promise<Overview> {
    const { version, database, storage, functions, realtime, meter, users } = this.#options;
    const { total } = await users.search({ limit: 0, offset: 0 });
    const { database: size, log: walSize } = database.sizes();
    return {
      version,
      startedAt: new Date(this.#startedAt).toISOString(),
      uptime: Math.round((Date.now() - this.#startedAt) / 1_000),
      residentMemory: process.memoryUsage.rss(),
      database: { size, walSize },
      storage: await storage.totals(),
      collections: await this.#counts(),
      requests: meter.lastHour(),
      sockets: realtime.sockets,
      deliveries: await functions.queue(),
      users: total,
    };
  }

  /** In the text format of Prometheus, version 0.0.4. */
  async metrics(): Promise<string> {
    const { metricsText } = await import("./metrics-text.ts");
    const { backups, database, disks, events, functions, jobs, lag, limits, meter, processesLost, readiness } =
      this.#options;
    const free = await Promise.all(disks.map(async (path) => [path, await freeBytes(path).catch(() => 0)] as const));
    const oldest = await functions.oldest();
    const { queues } = jobs;
    const ofQueue = async (name: string) => ({
      name,
      counts: await queues.counts(name),
      lagMs: await queues.lag(name),
    });
    return metricsText(await this.now(), {
      requests: meter.totals(),
      inFlight: meter.inFlight,
      limits: limits.totals(),
      database: database.meter,
      uncopiedLog: database.uncopiedLog,
      lagMs: lag.longest(),
      descriptors: openDescriptors(),
      free,
      eventLog: await events.extent(),
      oldestDelivery: oldest,
      runs: this.#runs,
      jobs: jobs.names(),
      endpoints: this.#options.endpoints.meter,
      hooks: functions.hooks.meter,
      queues: await Promise.all(queues.list().map(({ name }) => ofQueue(name))),
      processesLost: processesLost(),
      isReady: (await readiness()).length === 0,
      backups: backups.totals(),
      now: Date.now(),
    });
  }

  async #counts(): Promise<Overview["collections"]> {
    const counts: Overview["collections"] = [];
    for (const { name } of this.#options.collections.all()) {
      // The collection may have gone meanwhile.
      const collection = this.#options.collections.get(name);
      if (collection === undefined) continue;
      counts.push({ name, records: await this.#options.records.count(collection) });
      await nextTurn();
    }
    return counts;
  }
}
