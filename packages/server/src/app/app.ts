/** The composition root: builds, wires and starts the service. */
import { join } from "node:path";
import type { EffectiveConfig } from "@socle/protocol";
import { Admin } from "../admin/index.ts";
import { Backups, openTarget } from "../backup/index.ts";
import type { Config } from "../config/index.ts";
import { asSetupError, hasMetDamage } from "../database/index.ts";
import { EventRetention } from "../events/index.ts";
import {
  AccessLog,
  type Certificate,
  dashboardPath,
  dashboardSetupPath,
  firstAdminPath,
  HttpServer,
  RateLimiter,
} from "../http/index.ts";
import { AppError, count, messageOf, quote, SetupError } from "../kernel/index.ts";
import { EventLoopLag, type Logger, type LogRing, RequestMeter } from "../logging/index.ts";
import { Realtime } from "../realtime/index.ts";
import { type ControlAnswer, ControlServer } from "./control.ts";
import { controlAnswer } from "./control-answer.ts";
import { firstSteps } from "./first-steps.ts";
import { openHttps } from "./https.ts";
import { Readiness } from "./readiness.ts";
import { Scripts } from "./scripts.ts";
import { openDashboard, openStaticFiles } from "./served-files.ts";
import { openService, placesOf, type Service } from "./service.ts";
import { typesFile, writeTypes } from "./types-file.ts";
import { version } from "./version.ts";
import { definitionsFingerprint, watchDefinitions } from "./watch-definitions.ts";

/** How long a stop waits for requests that are running. All of it ends before the 10 s after which Docker kills a container. */
const graceMs = 8_000;

/** How long answers may take to leave, at the end of that. */
const answerMs = 500;

export interface AppOptions {
  config: Config;
  /** The configuration as admins see it. */
  effective: () => EffectiveConfig;
  logger: Logger;
  /** The most recent entries of the logger. */
  log: LogRing;
  onFatal: (error: unknown) => void;
  /** What the user's code finds in `process.env`, but for what configures the service. */
  environment: { readonly [name: string]: string | undefined };
  /** How somebody makes an admin on the command line. */
  adminCommand: string;
  /** Load functions and jobs again whenever one changes, and keep `.socle/types.d.ts` up to date. */
  isDevelopment?: boolean;
}

/** The running service: everything built, wired and started, until `stop`. */
export class App {
  readonly #service: Service;
  readonly #http: HttpServer;
  readonly #scripts: Scripts;
  readonly #backups: Backups;
  readonly #control: ControlServer | null;
  readonly #retention: EventRetention;
  readonly #stopping: AbortController;
  readonly #config: Config;
  readonly #readiness: Readiness;
  readonly #certificate: Certificate | null;

  private constructor(parts: {
    service: Service;
    http: HttpServer;
    scripts: Scripts;
    backups: Backups;
    control: ControlServer | null;
    retention: EventRetention;
    stopping: AbortController;
    config: Config;
    readiness: Readiness;
    certificate: Certificate | null;
  }) {
    this.#service = parts.service;
    this.#http = parts.http;
    this.#scripts = parts.scripts;
    this.#backups = parts.backups;
    this.#control = parts.control;
    this.#retention = parts.retention;
    this.#stopping = parts.stopping;
    this.#config = parts.config;
    this.#readiness = parts.readiness;
    this.#certificate = parts.certificate;
  }

  /** @throws SetupError with one readable line, and nothing left open. */
  static async start(options: AppOptions): Promise<App> {
    const { config, logger, log } = options;
    const applied = definitionsFingerprint(join(config.folder, "collections"));
    const service = await openService(options);
    const stopping = new AbortController();
    const scripts = new Scripts({ service, config, logger, environment: options.environment });
    let http: HttpServer | null = null;
    let backups: Backups | null = null;
    let control: ControlServer | null = null;
    try {
      await seedAdmin(service, config, logger);
      await announce(service, config, logger);
      backups = openBackups(service, config, logger);
      await backups.start();
      await scripts.start();
      const realtime = new Realtime({
        database: service.database,
        auth: service.auth,
        collections: service.collections,
        events: service.events,
        records: service.records,
        storage: service.storage,
        limits: service.limits,
        logger: logger.for("realtime"),
        bufferLimit: config["realtime.bufferLimit"],
        bufferTotal: config["realtime.bufferTotal"],
        maxSubscriptions: config["limits.subscriptions"],
      });
      const meter = new RequestMeter();
      const lag = new EventLoopLag(stopping.signal);
      const dashboard = await openDashboard(config, logger);
      const { functions, jobs } = scripts;
      const readiness = new Readiness({
        lag,
        database: service.database,
        paths: disksOf(config),
        minFree: config["limits.diskFree"],
        stopping: stopping.signal,
      });
      const admin = new Admin({
        ...service,
        version,
        effective: options.effective,
        realtime,
        functions,
        jobs,
        backups,
        logger: logger.for("admin"),
        log,
        meter,
        lag,
        disks: disksOf(config),
        readiness: () => readiness.reasons(),
        processesLost: () => scripts.processesLost,
        scriptFiles: () => scripts.states(),
      });
      const { certificate, acme } = await openHttps(config, logger.for("tls"));
      http = new HttpServer({
        auth: service.auth,
        records: service.records,
        queries: service.queries,
        storage: service.storage,
        realtime,
        admin,
        meter,
        limits: service.limits,
        metricsToken: config["metrics.token"],
        files: openStaticFiles(config),
        dashboard,
        readiness: () => readiness.reasons(),
        access: new AccessLog({ percent: config["log.access"], logger: logger.for("access") }),
        logger: logger.for("http"),
        version,
        host: config.host,
        port: config.port,
        corsOrigins: config["cors.origins"],
        bodyLimit: config["limits.body"],
        rates: RateLimiter.from(config),
        maxConnections: config["limits.connections"],
        connectionsPerAddress: config["limits.connectionsPerAddress"],
        bodiesLimit: config["limits.bodies"],
        answersLimit: config["limits.answers"],
        listCacheSize: config["cache.size"],
        maxUploads: config["limits.uploads"],
        certificate,
        answerTo: (token) => acme?.answerTo(token),
        redirectPort: config["tls.redirectPort"],
        stopping: stopping.signal,
        trustedProxies: config.trustedProxies,
      });
      const retention = new EventRetention({
        database: service.database,
        events: service.events,
        clock: service.clock,
        logger: logger.for("events"),
        maxAgeMs: config["events.retention"],
        maxCount: config["events.maxCount"],
        maxBytes: config["events.maxBytes"],
      });
      retention.start(stopping.signal);
      control = openControl(config.database, controlAnswer({ config, service, scripts, backups }), logger);
      await inviteFirstAdmin(admin, `${http.url}${dashboard === null ? firstAdminPath : dashboardSetupPath}`, options);
      logger.info(`The API is at ${http.url}/api/{collection}`);
      if (dashboard !== null) logger.info(`The dashboard is at ${http.url}${dashboardPath}`);
      logger.notice(`Listening on ${http.url}`);
      if (certificate !== null) void acme?.keep(certificate, stopping.signal);
      if (http.redirectPort !== null) logger.info(`Plain HTTP on port ${http.redirectPort} leads to HTTPS`);
      if (options.isDevelopment === true) await develop({ service, scripts, config, logger, applied });
      return new App({ service, http, scripts, backups, control, retention, stopping, config, readiness, certificate });
    } catch (thrown) {
      stopping.abort();
      control?.stop();
      await http?.stop(0);
      await backups?.stop();
      await scripts.stop(0);
      await service.close();
      throw hasMetDamage(thrown) ? asSetupError(config.database, thrown) : thrown;
    }
  }

  get url(): string {
    return this.#http.url;
  }

  /** Commands for a shell that lead to a first record; none where there are records, or where they would need an admin. */
  firstSteps(): Promise<string[]> {
    return firstSteps(this.#service, this.url, this.#config);
  }

  /** See `Readiness`. */
  works(): Promise<boolean> {
    return this.#readiness.works();
  }

  /** Loads functions, jobs and the certificate again. */
  async reload(): Promise<void> {
    await Promise.all([this.#scripts.reload(), this.#certificate?.look(true)]);
  }

  /** Stops accepting, finishes what is running, flushes and closes the database. */
  async stop(): Promise<void> {
    const end = performance.now() + graceMs;
    this.#stopping.abort();
    // A little earlier than connections are closed, so that who waits for what is given up is told.
    const givingUp = setTimeout(() => this.#service.giveUp(), graceMs - answerMs);
    this.#control?.stop();
    const backupsEnded = this.#backups.stop();
    await this.#http.stop(graceMs);
    clearTimeout(givingUp);
    await this.#scripts.stop(Math.max(0, end - performance.now()));
    await this.#retention.settled();
    await backupsEnded;
    await this.#service.close(Math.max(0, end - performance.now()));
  }
}

/** Paths whose disks the service writes to: the database, and the files where they are not in a bucket. */
function disksOf({ database, storage }: Config): string[] {
  return storage.startsWith("s3://") ? [database] : [database, storage];
}

function openBackups(service: Service, config: Config, logger: Logger): Backups {
  const places = placesOf(config);
  return new Backups({
    ...service,
    logger: logger.for("backup"),
    places,
    target: openTarget(config["backup.target"], places),
    schedule: config["backup.schedule"],
    keep: config["backup.keep"],
    maxLog: config["backup.log"],
    recipient: config["backup.recipient"],
    version,
  });
}

/** Null where commands cannot reach the service. */
function openControl(database: string, answer: ControlAnswer, logger: Logger): ControlServer | null {
  // Windows has no such sockets.
  if (process.platform === "win32") return null;
  try {
    return new ControlServer(database, answer);
  } catch (thrown) {
    logger.warn(`Commands such as socle run and socle backup cannot reach this service: ${messageOf(thrown)}`);
    return null;
  }
}

/** Reloads what changes, and keeps the types up to date. */
async function develop(options: {
  service: Service;
  scripts: Scripts;
  config: Config;
  logger: Logger;
  /** The state of the definition files that was applied. */
  applied: string;
}): Promise<void> {
  const { service, scripts, config, logger, applied } = options;
  let writing = Promise.resolve();
  // One after the other, so that the last one written is the newest.
  const write = (): Promise<void> => {
    writing = writing.then(() =>
      writeTypes(
        config.folder,
        service.collections.all().map(({ definition }) => definition),
      ).catch((error) => logger.error(`${typesFile} could not be written`, { error })),
    );
    return writing;
  };
  await write();
  service.events.listen(({ type }) => {
    if (type.startsWith("system.collection.")) void write();
  });
  scripts.watch();
  watchDefinitions({ service, folder: join(config.folder, "collections"), applied, logger });
}

/** What there is and what there is not, before anybody is let in. */
async function announce(service: Service, config: Config, logger: Logger): Promise<void> {
  const names = service.collections.all().map(({ name }) => name);
  logger.info(`Database ${config.database}, ${count(names.length, "collection")}`, { collections: names });
}

/** While there is no admin, whoever reads the log may make one, at this address. */
async function inviteFirstAdmin({ firstAdmin }: Admin, address: string, options: AppOptions): Promise<void> {
  const { logger, adminCommand } = options;
  const token = await firstAdmin.invite();
  if (token === null) return;
  logger.notice(`There is no admin yet. Make one with: ${adminCommand}`);
  logger.notice(`Or make the first admin with this link, once and within 30 minutes: ${address}?token=${token}`);
}

async function seedAdmin(service: Service, config: Config, logger: Logger): Promise<void> {
  const email = config["admin.email"];
  const password = config["admin.password"];
  if (email === undefined || password === undefined) return;
  try {
    const outcome = await service.auth.seedAdmin({ email, password: password.reveal() });
    if (outcome === "made") logger.info(`Made the admin ${email}`);
    if (outcome === "spent")
      logger.info(`admin.email ${email} was deleted or demoted as an admin, and is not made one again`);
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.details === undefined) throw thrown;
    const problems = thrown.details.map(({ field, message }) =>
      field === "email" ? `admin.email ${quote(email)}: ${message}` : `admin.password: ${message}`,
    );
    throw new SetupError(problems.join("; "));
  }
}
