/** The composition root: builds, wires and starts the service. */
import { join } from "node:path";
import type { EffectiveConfig } from "@socle/protocol";
import type { Admin } from "../admin/index.ts";
import type { Config } from "../config/index.ts";
import { asSetupError, hasMetDamage } from "../database/index.ts";
import { EventRetention } from "../events/index.ts";
import { type Certificate, dashboardPath, dashboardSetupPath, firstAdminPath, HttpServer } from "../http/index.ts";
import { AppError, type Clock, count, messageOf, quote, SetupError } from "../kernel/index.ts";
import { EventLoopLag, type Logger, type LogRing } from "../logging/index.ts";
import { buildApi, disksOf } from "./api.ts";
import { type ControlAnswer, ControlServer } from "./control.ts";
import { controlAnswer } from "./control-answer.ts";
import { firstSteps } from "./first-steps.ts";
import { openHttps } from "./https.ts";
import { Readiness } from "./readiness.ts";
import { Scripts } from "./scripts.ts";
import { openDashboard, openStaticFiles } from "./served-files.ts";
import { openService, type Service } from "./service.ts";
import { typesFile, writeTypes } from "./types-file.ts";
import { version } from "./version.ts";
import { definitionsFingerprint, watchDefinitions } from "./watch-definitions.ts";

/**
 * How long a stop waits for requests that are running. All of it ends before the 10 s after which Docker kills a
 * container.
 */
const graceMs = 8_000;

/** How long closing the database may take in any case. */
const closeMs = 1_000;

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
  /** The `process.env` of the user's code, without the variables of the service. */
  environment: { readonly [name: string]: string | undefined };
  /** How somebody makes an admin on the command line. */
  adminCommand: string;
  /** See `ServiceOptions`. */
  clock?: Clock;
  /** Load functions and jobs again whenever one changes, and keep `.socle/types.d.ts` up to date. */
  isDevelopment?: boolean;
}

/** The running service: everything built, wired and started, until `stop`. */
export class App {
  readonly #service: Service;
  readonly #http: HttpServer;
  readonly #scripts: Scripts;
  readonly #stopping: AbortController;
  readonly #config: Config;
  readonly #readiness: Readiness;
  readonly #certificate: Certificate | null;
  /** Everything that was started; the last is stopped first. */
  readonly #started: AsyncDisposableStack;
  readonly #grace: Grace;

  private constructor(parts: {
    service: Service;
    http: HttpServer;
    scripts: Scripts;
    stopping: AbortController;
    config: Config;
    readiness: Readiness;
    certificate: Certificate | null;
    started: AsyncDisposableStack;
    grace: Grace;
  }) {
    this.#service = parts.service;
    this.#http = parts.http;
    this.#scripts = parts.scripts;
    this.#stopping = parts.stopping;
    this.#config = parts.config;
    this.#readiness = parts.readiness;
    this.#certificate = parts.certificate;
    this.#started = parts.started;
    this.#grace = parts.grace;
  }

  /** @throws SetupError with one readable line, and nothing left open. */
  static async start(options: AppOptions): Promise<App> {
    try {
      return await App.#start(options);
    } catch (thrown) {
      throw hasMetDamage(thrown) ? asSetupError(options.config.database, thrown) : thrown;
    }
  }

  static async #start(options: AppOptions): Promise<App> {
    const { config, logger } = options;
    await using starting = new AsyncDisposableStack();
    const grace = new Grace();
    const applied = definitionsFingerprint(join(config.folder, "collections"));
    const service = starting.adopt(await openService(options), (opened) =>
      opened.close(Math.max(closeMs, grace.leftMs)),
    );
    const stopping = starting.adopt(new AbortController(), (controller) => controller.abort());
    const scripts = starting.adopt(
      new Scripts({ service, config, logger, environment: options.environment }),
      (running) => running.stop(grace.leftMs),
    );
    await seedAdmin(service, config, logger);
    await announce(service, config, logger);
    const lag = new EventLoopLag(stopping.signal);
    const readiness = new Readiness({
      lag,
      database: service.database,
      paths: disksOf(config),
      minFree: config["limits.diskFree"],
      stopping: stopping.signal,
    });
    const { parts, backups } = buildApi({
      ...options,
      service,
      scripts,
      version,
      lag,
      readiness: () => readiness.reasons(),
      files: openStaticFiles(config),
      dashboard: await openDashboard(config, logger),
    });
    starting.defer(() => backups.stop());
    await backups.start();
    await scripts.start();
    const retention = openRetention(service, config, logger);
    starting.defer(() => retention.settled());
    const { certificate, acme } = await openHttps(config, logger.for("tls"));
    const http = new HttpServer({
      ...parts,
      host: config.host,
      port: config.port,
      maxConnections: config["limits.connections"],
      certificate,
      answerTo: (token) => acme?.answerTo(token),
      redirectPort: config["tls.redirectPort"],
      stopping: stopping.signal,
      trustedProxies: config.trustedProxies,
    });
    starting.defer(() => stopHttp(http, service, grace.leftMs));
    retention.start(stopping.signal);
    starting.defer(() => stopping.abort());
    const control = openControl(config.database, controlAnswer({ config, service, scripts, backups }), logger);
    starting.defer(() => control?.stop());
    const setupPath = parts.dashboard === null ? firstAdminPath : dashboardSetupPath;
    await inviteFirstAdmin(parts.admin, `${http.url}${setupPath}`, options);
    logger.info(`The API is at ${http.url}/api/{collection}`);
    if (parts.dashboard !== null) logger.info(`The dashboard is at ${http.url}${dashboardPath}`);
    logger.notice(`Listening on ${http.url}`);
    if (certificate !== null) void acme?.keep(certificate, stopping.signal);
    if (http.redirectPort !== null) logger.info(`Plain HTTP on port ${http.redirectPort} redirects to HTTPS`);
    if (options.isDevelopment === true) await develop({ service, scripts, config, logger, applied });
    // Its work is told to end with the signal; the stack waits for the end.
    stopping.signal.addEventListener("abort", () => void backups.stop());
    const started = starting.move();
    return new App({ service, http, scripts, stopping, config, readiness, certificate, started, grace });
  }

  get url(): string {
    return this.#http.url;
  }

  /**
   * Commands for a shell that lead to a first record; none where there are records, or where they would need an admin.
   */
  firstSteps(): Promise<string[]> {
    return firstSteps(this.#service, this.url, this.#config);
  }

  /** Everything but the network, for `socle test`. */
  get service(): Service {
    return this.#service;
  }

  /** The user's code, for `socle test`. */
  get scripts(): Scripts {
    return this.#scripts;
  }

  /** See `Readiness`. */
  works(): Promise<boolean> {
    return this.#readiness.works();
  }

  /** Loads functions, jobs and the certificate again. */
  async reload(): Promise<void> {
    await Promise.all([this.#scripts.reload(), this.#certificate?.look(true)]);
  }

  /** Stops accepting, finishes running requests, flushes and closes the database. */
  async stop(): Promise<void> {
    this.#grace.begin();
    this.#stopping.abort();
    await this.#started.disposeAsync();
  }
}

function openRetention(service: Service, config: Config, logger: Logger): EventRetention {
  return new EventRetention({
    ...service,
    logger: logger.for("events"),
    maxAgeMs: config["events.retention"],
    maxCount: config["events.maxCount"],
    maxBytes: config["events.maxBytes"],
  });
}

/** The time that the parts of a service have to stop: none while it starts, then a time that all of them share. */
class Grace {
  #end = 0;

  begin(): void {
    this.#end = performance.now() + graceMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#end - performance.now());
  }
}

/** A little before connections are closed, work that has not ended is given up, so that its callers are told. */
async function stopHttp(http: HttpServer, service: Service, leftMs: number): Promise<void> {
  const givingUp = leftMs > answerMs ? setTimeout(() => service.giveUp(), leftMs - answerMs) : undefined;
  await http.stop(leftMs);
  clearTimeout(givingUp);
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

/** Reloads changed files, and keeps the types up to date. */
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
        config,
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

/** Logs the state of the service before it accepts requests. */
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
