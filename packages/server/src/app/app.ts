import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/index.ts";
import { EventRetention } from "../events/index.ts";
import { HttpServer } from "../http/index.ts";
import { count, isObject } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { openService, type Service } from "./service.ts";
import { version } from "./version.ts";

/** How long a stop waits for requests that are running. */
const graceMs = 10_000;

export interface AppOptions {
  config: Config;
  logger: Logger;
  onFatal: (error: unknown) => void;
}

/** The running service: everything built, wired and started, until `stop`. */
export class App {
  readonly #service: Service;
  readonly #http: HttpServer;
  readonly #retention: EventRetention;
  readonly #stopping: AbortController;

  private constructor(parts: {
    service: Service;
    http: HttpServer;
    retention: EventRetention;
    stopping: AbortController;
  }) {
    this.#service = parts.service;
    this.#http = parts.http;
    this.#retention = parts.retention;
    this.#stopping = parts.stopping;
  }

  /** @throws SetupError with one readable line, and nothing left open. */
  static async start(options: AppOptions): Promise<App> {
    const { config, logger } = options;
    const service = await openService(options);
    try {
      await seedAdmin(service, config, logger);
      const http = new HttpServer({
        auth: service.auth,
        records: service.records,
        logger: logger.for("http"),
        version,
        host: config.host,
        port: config.port,
        corsOrigins: config["cors.origins"],
        bodyLimit: config["limits.body"],
        trustedProxies: config.trustedProxies,
      });
      const stopping = new AbortController();
      const retention = new EventRetention({
        database: service.database,
        clock: service.clock,
        logger: logger.for("events"),
        maxAgeMs: config["events.retention"],
        maxCount: config["events.maxCount"],
      });
      retention.start(stopping.signal);
      const app = new App({ service, http, retention, stopping });
      await app.#greet(config, logger);
      return app;
    } catch (thrown) {
      await service.close();
      throw thrown;
    }
  }

  get url(): string {
    return this.#http.url;
  }

  /** Stops accepting, finishes what is running, flushes and closes the database. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#http.stop(graceMs);
    await this.#retention.settled();
    await this.#service.close();
  }

  async #greet(config: Config, logger: Logger): Promise<void> {
    const names = this.#service.collections.all().map(({ name }) => name);
    logger.info(`Database ${config.database}, ${count(names.length, "collection")}`, { collections: names });
    if (config["dashboard.enabled"]) logger.warn("This build has no dashboard; /_/ is not served");
    for (const folder of ["functions", "jobs"])
      if (hasScripts(join(config.folder, folder)))
        logger.warn(`This version does not run the files in ${folder}/ yet; they have no effect`);
    if (!(await this.#service.auth.adminExists()))
      logger.info("There is no admin yet. Make one with: socle admin create EMAIL");
    logger.info(`Listening on ${this.url}`);
  }
}

async function seedAdmin(service: Service, config: Config, logger: Logger): Promise<void> {
  const email = config["admin.email"];
  const password = config["admin.password"];
  if (email === undefined || password === undefined) return;
  if (await service.auth.seedAdmin({ email, password: password.reveal() })) logger.info(`Made the admin ${email}`);
}

function hasScripts(folder: string): boolean {
  try {
    return readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith(".ts"));
  } catch (thrown) {
    if (isObject(thrown) && thrown["code"] === "ENOENT") return false;
    throw thrown;
  }
}
