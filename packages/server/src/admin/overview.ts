/** The overview: the state of the service at one look, for admins and for Prometheus. */
import type { Overview } from "@socle/protocol";
import type { Users } from "../auth/index.ts";
import type { Collections } from "../collections/index.ts";
import type { Database } from "../database/index.ts";
import type { Functions } from "../functions/index.ts";
import { nextTurn } from "../kernel/index.ts";
import type { LimitMeter, RequestMeter } from "../logging/index.ts";
import type { Realtime } from "../realtime/index.ts";
import type { Records } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";

export interface OverviewOptions {
  version: string;
  database: Database;
  collections: Collections;
  records: Records;
  users: Users;
  storage: Storage;
  functions: Functions;
  realtime: Realtime;
  meter: RequestMeter;
  limits: LimitMeter;
}

/** How the service is doing, at one look; and the same as metrics. */
export class Overviews {
  readonly #options: OverviewOptions;
  readonly #startedAt = Date.now() - performance.now();

  constructor(options: OverviewOptions) {
    this.#options = options;
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
    const { meter, limits } = this.#options;
    return metricsText(await this.now(), { requests: meter.totals(), limits: limits.totals() });
  }

  async #counts(): Promise<Overview["collections"]> {
    const counts: Overview["collections"] = [];
    for (const { name } of this.#options.collections.all()) {
      // It may have gone meanwhile.
      const collection = this.#options.collections.get(name);
      if (collection === undefined) continue;
      counts.push({ name, records: await this.#options.records.count(collection) });
      await nextTurn();
    }
    return counts;
  }
}
