/** The overview: the state of the service at a glance, for admins and for Prometheus. */
import type { Overview } from "@socle/protocol";
import { freeBytes, nextTurn, openDescriptors } from "../../base/kernel/index.ts";
import type { EventLoopLag, LimitMeter, RequestMeter } from "../../base/logging/index.ts";
import type { Endpoints } from "../../code/endpoints/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import type { Jobs } from "../../code/jobs/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Realtime } from "../../live/realtime/index.ts";
import type { Users } from "../../people/auth/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Backups } from "../backup/index.ts";
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
  /** The reasons for which the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
  /** How often the process of the user's code was lost. */
  processesLost: () => number;
  realtime: Realtime;
  meter: RequestMeter;
  limits: LimitMeter;
  backups: Backups;
}

/** The state of the service at a glance, also as metrics. */
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
    const { total } = users.search({ limit: 0, offset: 0 });
    const { database: size, log: walSize } = database.sizes();
    return {
      version,
      startedAt: new Date(this.#startedAt).toISOString(),
      uptime: Math.round((Date.now() - this.#startedAt) / 1_000),
      residentMemory: process.memoryUsage.rss(),
      database: { size, walSize },
      storage: storage.totals(),
      collections: await this.#counts(),
      requests: meter.lastHour(),
      sockets: realtime.sockets,
      deliveries: functions.queue(),
      users: total,
    };
  }

  /** In the text format of Prometheus, version 0.0.4. */
  async metrics(): Promise<string> {
    const { metricsText } = await import("./metrics-text.ts");
    const { backups, database, disks, events, functions, jobs, lag, limits, meter, processesLost, readiness } =
      this.#options;
    const free = await Promise.all(disks.map(async (path) => [path, await freeBytes(path).catch(() => 0)] as const));
    const { queues } = jobs;
    const ofQueue = (name: string) => ({
      name,
      counts: queues.counts(name),
      lagMs: queues.lag(name),
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
      eventLog: events.extent(),
      oldestDelivery: functions.oldest(),
      runs: this.#runs,
      jobs: jobs.names(),
      endpoints: this.#options.endpoints.meter,
      hooks: functions.hooks.meter,
      queues: queues.list().map(({ name }) => ofQueue(name)),
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
      counts.push({ name, records: this.#options.records.count(collection) });
      await nextTurn();
    }
    return counts;
  }
}
