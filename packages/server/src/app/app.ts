/** The composition root: builds, wires and starts the service. */
import { join } from "node:path";
import type { EffectiveConfig } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { AppError, type Clock, count, messageOf, quote, SetupError } from "../base/kernel/index.ts";
import { EventLoopLag, type Logger, type LogRing } from "../base/logging/index.ts";
import { applyDefinitionFiles } from "../data/collections/index.ts";
import { type Certificate, dashboardPath, dashboardSetupPath, firstAdminPath, HttpServer } from "../edge/http/index.ts";
import type { Admin } from "../operate/admin/index.ts";
import { checkBackups } from "../operate/backup/index.ts";
import { asSetupError, hasMetDamage } from "../store/database/index.ts";
import { EventRetention } from "../store/events/index.ts";
import { buildApi, disksOf } from "./api.ts";
import { type ControlAnswer, ControlServer } from "./control.ts";
import { controlAnswer } from "./control-answer.ts";
import { firstSteps } from "./first-steps.ts";
import { openHttps } from "./https.ts";
import { Readiness } from "./readiness.ts";
import { Scripts } from "./scripts.ts";
import { openDashboard, openStaticFiles } from "./served-files.ts";
import { dataPathsOf, openService, type Service } from "./service.ts";
import { typesFile, writeTypes } from "./types-file.ts";
import { version } from "./version.ts";
import { definitionsState, watchFiles } from "./watch-files.ts";

/** The time for which a stop waits for running requests. A stop ends before the 10 s after which Docker kills a container. */
const graceMs = 8_000;

/** The least time for closing the database. */
const closeMs = 1_000;

/** The last part of the wait: requests are given up, and their answers leave. */
const answerMs = 500;

export interface AppOptions {
  config: Config;
  /** The configuration in the form for admins. */
  effective: () => EffectiveConfig;
  logger: Logger;
  /** The most recent entries of the logger. */
  log: LogRing;
  onFatal: (error: unknown) => void;
  /** The `process.env` of the user's code, without the variables of the service. */
  environment: { readonly [name: string]: string | undefined };
  /** The command that makes an admin, for messages. */
  adminCommand: string;
  /** See `ServiceOptions`. */
  clock?: Clock;
  /** Loads functions and jobs again after each change, and keeps `.socle/types.d.ts` up to date. */
  isDevelopment?: boolean;
}

/** Everything of a running service that its stop, its reload and its owner need. */
interface AppParts {
  readonly service: Service;
  readonly http: HttpServer;
  readonly scripts: Scripts;
  readonly stopping: AbortController;
  readonly config: Config;
  readonly readiness: Readiness;
  readonly certificate: Certificate | null;
  /** All started parts; the last part is stopped first. */
  readonly started: AsyncDisposableStack;
  readonly grace: Grace;
}

/** The running service: everything built, wired and started, until `stop`. */
export class App {
  readonly #parts: AppParts;

  private constructor(parts: AppParts) {
    this.#parts = parts;
  }

  /** @throws SetupError with a readable line; all parts are closed then. */
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
    // A setting that prevents the start must do so before the database is opened and migrated.
    const files = openStaticFiles(config);
    const dashboard = await openDashboard(config, logger);
    await checkBackups(config, dataPathsOf(config));
    const { certificate, acme } = await openHttps(config, logger.for("tls"));
    const applied = definitionsState(join(config.folder, "collections"));
    const service = starting.adopt(await openService(options), (opened) =>
      opened.close(Math.max(closeMs, grace.leftMs)),
    );
    const stopping = starting.adopt(new AbortController(), (controller) => controller.abort());
    const scripts = starting.adopt(
      new Scripts({ service, config, logger, environment: options.environment }),
      (running) => running.stop(grace.leftMs),
    );
    await seedAdmin(service, config, logger);
    announce(service, config, logger);
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
      files,
      dashboard,
    });
    starting.defer(() => backups.stop());
    backups.start();
    await scripts.start();
    const retention = openRetention(service, config, logger);
    starting.defer(() => retention.settled());
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
    inviteFirstAdmin(parts.admin, `${http.url}${setupPath}`, options);
    logger.info(`The API is at ${http.url}/api/{collection}`);
    if (parts.dashboard !== null) logger.info(`The dashboard is at ${http.url}${dashboardPath}`);
    logger.notice(`Listening on ${http.url}`);
    if (certificate !== null) void acme?.keep(certificate, stopping.signal);
    if (http.redirectPort !== null) logger.info(`Plain HTTP on port ${http.redirectPort} redirects to HTTPS`);
    if (options.isDevelopment === true)
      await develop({ service, scripts, config, logger, applied, signal: stopping.signal });
    // Its work is told to end with the signal; the stack waits for the end.
    stopping.signal.addEventListener("abort", () => void backups.stop());
    const started = starting.move();
    return new App({ service, http, scripts, stopping, config, readiness, certificate, started, grace });
  }

  get url(): string {
    return this.#parts.http.url;
  }

  /**
   * Commands for a shell that lead to a first record; empty for a service with records, or when the commands would need
   * an admin.
   */
  firstSteps(): string[] {
    return firstSteps(this.#parts.service, this.url, this.#parts.config);
  }

  /** Everything but the network, for `socle test`. */
  get service(): Service {
    return this.#parts.service;
  }

  /** The user's code, for `socle test`. */
  get scripts(): Scripts {
    return this.#parts.scripts;
  }

  /** See `Readiness`. */
  works(): Promise<boolean> {
    return this.#parts.readiness.works();
  }

  /** Loads functions, jobs and the certificate again. */
  async reload(): Promise<void> {
    await Promise.all([this.#parts.scripts.reload(), this.#parts.certificate?.look(true)]);
  }

  /** Stops accepting, finishes running requests, flushes and closes the database. */
  async stop(): Promise<void> {
    this.#parts.grace.begin();
    this.#parts.stopping.abort();
    await this.#parts.started.disposeAsync();
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

/**
 * The time that the parts of a service have to stop: no time during the start, afterwards a time that all parts
 * share.
 */
class Grace {
  #end = 0;

  begin(): void {
    this.#end = performance.now() + graceMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#end - performance.now());
  }
}

/** Work that has not ended is given up a little before connections are closed, so that its callers get an answer. */
async function stopHttp(http: HttpServer, service: Service, leftMs: number): Promise<void> {
  const giveUp = (): void => {
    service.giveUp();
    // The database gives up first, because its errors tell more.
    setTimeout(() => http.giveUp(), answerMs / 2);
  };
  const givingUp = leftMs > answerMs ? setTimeout(giveUp, leftMs - answerMs) : undefined;
  await http.stop(leftMs);
  clearTimeout(givingUp);
}

/** Null when commands cannot reach the service. */
function openControl(database: string, answer: ControlAnswer, logger: Logger): ControlServer | null {
  // Windows has no Unix sockets.
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
  /** The last applied state of the definition files. */
  applied: string;
  signal: AbortSignal;
}): Promise<void> {
  const { service, scripts, config, logger, applied, signal } = options;
  let writing = Promise.resolve();
  // The writes follow each other, so that the last written file is the newest.
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
  const { collections, database } = service;
  const folder = join(config.folder, "collections");
  const apply = (): Promise<void> =>
    applyDefinitionFiles({ folder, collections, database, logger: logger.for("collections") }).catch((error) =>
      logger.error(`Collections stay as they are: ${messageOf(error)}`),
    );
  watchFiles({ stateOf: () => definitionsState(folder), applied, apply, signal });
}

/** Logs the state of the service before it accepts requests. */
function announce(service: Service, config: Config, logger: Logger): void {
  const names = service.collections.all().map(({ name }) => name);
  logger.info(`Database ${config.database}, ${count(names.length, "collection")}`, { collections: names });
}

/** While no admin exists, the reader of the log may make the first admin at this address. */
function inviteFirstAdmin({ firstAdmin }: Admin, address: string, options: AppOptions): void {
  const { logger, adminCommand } = options;
  const token = firstAdmin.invite();
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
