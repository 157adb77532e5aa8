/** The composition root: builds, wires and starts the service. */
import { join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import packageJson from "../../package.json" with { type: "json" };
import { type Config, configWith, plainConfig } from "../base/config/index.ts";
import { AppError, count, messageOf, quote, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { applyDefinitionFiles, DroppedRetention } from "../data/collections/index.ts";
import {
  type ApiParts,
  dashboardPath,
  dashboardSetupPath,
  firstAdminPath,
  freePort,
  HttpServer,
  openRouter,
} from "../edge/http/index.ts";
import { ReaderProcesses } from "../edge/processes/index.ts";
import { type Rooms, readRooms, roomFolder } from "../live/rooms/index.ts";
import { type Backups, checkBackups } from "../operate/backup/index.ts";
import { isCommonPassword } from "../people/auth/index.ts";
import { asSetupError, hasMetDamage } from "../store/database/index.ts";
import { EventRetention } from "../store/events/index.ts";
import { type ApiOptions, buildApi, disksOf } from "./api.ts";
import { continuousOf } from "./continuous.ts";
import { type ControlAnswer, openControl } from "./control.ts";
import { definitionsOf, droppedIn, keepPulled, restoreIn } from "./definitions.ts";
import { answerFailures } from "./failures.ts";
import { firstSteps } from "./first-steps.ts";
import { openAuthPages, openFront } from "./http-parts.ts";
import type { LeadingInstance } from "./instance-part.ts";
import { answerLogLevel, answerLogs } from "./logs.ts";
import { openParts } from "./parts.ts";
import { leaderPart, processesOf, readerPart } from "./processes.ts";
import { answerReadOnly, guardDisks } from "./read-only.ts";
import { Readiness } from "./readiness.ts";
import { checkRooms, reloadRooms } from "./room-definitions.ts";
import { Scripts } from "./scripts.ts";
import { seedFrom } from "./seed.ts";
import { dataPathsOf, openService, type Service, type ServiceOptions } from "./service.ts";
import { openWriterTelemetry, spansMs } from "./telemetry.ts";
import { commandLine } from "./traces.ts";
import { exportFile, importFile } from "./transfer-file.ts";
import { typesFile, writeTypes } from "./types-file.ts";
import { folderState, watchFiles } from "./watch-files.ts";

/** Version of this executable. */
export const [version = ""] = packageJson.version.split("+");
/** The version with the commit of the source, as `socle version` and backups name the executable. */
export const build: string = packageJson.version;
/** The platform of the build, by its name in releases: `linux-x64`; `source` without a build. */
export const { platform }: { platform: string } = packageJson;

/** The time for which a stop waits for running requests. A stop ends before the 10 s after which Docker kills a container. */
export const graceMs = 8_000;

/** The least time for closing the database. */
const closeMs = 1_000;

/** The most that the stop waits for mails under way, after everything else has stopped. */
const mailsMs = 2_000;

/** The names of definition files. */
const definitionFile = /\.json$/;

/** The last part of the wait: requests are given up, and the answers leave. */
const answerMs = 500;

export interface AppOptions
  extends Omit<ServiceOptions, "copies" | "joinCluster" | "onlyReads">,
    Pick<ApiOptions, "live" | "log"> {
  /** The `process.env` of the user's code, without the variables of the service. */
  environment: { readonly [name: string]: string | undefined };
  /** The command that makes an admin, for messages. */
  adminCommand: string;
  /** Ends a start that runs migrations: `startApp` then throws `MigrationStopped`. */
  interrupted?: AbortSignal;
  /** Loads functions and jobs again after each change, and keeps `.socle/types.d.ts` up to date. */
  isDevelopment?: boolean;
  /** The first port for a debugger of the user's code; without a port, no debugger attaches. */
  inspectPort?: number | undefined;
  /** This process as the leader of a cluster. */
  instance?: LeadingInstance | undefined;
}

/** The running service: everything built, wired and started, until `stop`. */
export type App = Awaited<ReturnType<typeof start>>;

/** A process that serves: an app, or an instance of a cluster. */
export type Running = Pick<App, "url" | "reload" | "works" | "firstSteps" | "stop">;

/** @throws SetupError with a readable line; all parts are closed then. */
export async function startApp(options: AppOptions): Promise<App> {
  try {
    return await start(options);
  } catch (thrown) {
    throw hasMetDamage(thrown) ? asSetupError(options.config.database, thrown) : thrown;
  }
}

async function start(options: AppOptions) {
  const { config, environment, inspectPort, instance, interrupted, isDevelopment = false, logger } = options;
  // A project under development is loaded again and again, by a single process.
  const processes = isDevelopment ? 1 : processesOf(config);
  await using starting = new AsyncDisposableStack();
  // The end of the time to stop, which all parts share. During the start, parts have no time.
  let end = 0;
  const leftMs = (): number => Math.max(0, end - performance.now());
  // A setting that prevents the start must do so before the database is opened and migrated.
  const front = await openFront(config, logger);
  const pages = await openAuthPages(config);
  await checkBackups(config, dataPathsOf(config));
  const rooms = await readRooms(config.folder);
  const appliedRooms = folderState(roomFolder(config.folder), definitionFile);
  const applied = folderState(join(config.folder, "collections"), definitionFile);
  const continuous = continuousOf({ config, logger, build, journal: instance?.journal });
  // The last segment leaves when the database is closed.
  starting.defer(() => continuous?.backup.finish(Math.max(closeMs, leftMs())));
  const opening = openService({
    clock: options.clock,
    config,
    copies: continuous?.backup,
    joinCluster: instance?.joinCluster,
    logger,
    onFatal: options.onFatal,
    passwordCost: options.passwordCost,
  });
  const service = starting.adopt(await opening, (opened) => opened.close(Math.max(closeMs, leftMs())));
  const { clock, database, events } = service;
  const spans = openWriterTelemetry({ config, logger, service, version });
  starting.defer(() => spans?.stop(Math.min(leftMs(), spansMs)));
  starting.defer(() => service.mails.stop(Math.min(leftMs(), mailsMs)));
  const stopping = starting.adopt(new AbortController(), (controller) => controller.abort());
  const { signal } = stopping;
  starting.defer(() => service.failures.settled());
  checkRooms(
    rooms,
    service.collections.all().map(({ definition }) => definition),
  );
  const scripts = new Scripts({ config, environment, inspectPort, logger, service });
  starting.defer(() => scripts.stop(leftMs()));
  await seedAdmin(service, config, logger);
  const names = service.collections.all().map(({ name }) => name);
  logger.info(`Database ${config.database}, ${count(names.length, "collection")}`, { collections: names });
  const wrote = (caller: string): void => api.positions.wrote(caller);
  const readers =
    processes === 1
      ? null
      : openReaders({
          config,
          environment,
          http: () => http,
          live: options.live,
          logger,
          others: processes - 1,
          rooms: () => parts.realtime.rooms,
          scripts,
          service,
          wrote,
        });
  const ownConfig = leaderPart(config, processes);
  const paths = (): readonly string[] => http.paths;
  const part = instance?.part({ service, scripts, paths, rooms: () => parts.realtime.rooms, storage: config.storage });
  const parts = openParts({
    beforeSocket: part?.beforeSocket,
    config: ownConfig,
    front,
    logger,
    named: scripts.queries,
    rooms,
    service,
    stopping: signal,
    version,
  });
  const readiness = new Readiness({
    database,
    lag: parts.lag,
    minFree: config["limits.diskFree"],
    missing: () => readers?.missing ?? [],
    paths: disksOf(config),
    stopping: signal,
  });
  const { api, backups } = buildApi({
    build,
    certificate: () => front.certificate?.pair.cert ?? null,
    cluster: instance?.overview,
    continuous: continuous?.backup ?? null,
    live: options.live,
    instance: part,
    isDevelopment,
    log: options.log,
    logger,
    pages,
    parts,
    readers,
    readiness: () => readiness.reasons(),
    // The listener of the signal knows whether this process is an instance of a cluster.
    reload: isDevelopment ? null : () => void process.emit("SIGHUP", "SIGHUP"),
    scripts,
    service,
    spans,
  });
  api.admin.settings.stored.load();
  if (instance !== undefined) events.noteLiveParts();
  starting.adopt(backups, () => backups.stop()).start();
  await api.admin.failures.groupOld();
  await scripts.start({ signal: AbortSignal.any([signal, interrupted ?? signal]) });
  api.admin.failures.start(signal);
  api.admin.status.start(signal);
  api.admin.overviews.start(signal);
  api.admin.alerts.start(signal);
  starting.defer(() => api.admin.alerts.posts.settled());
  await guardDisks({ config, database, logger: logger.for("database"), paths: disksOf(config) }, signal);
  starting.defer(() => api.admin.failures.settled());
  const retention = new EventRetention({ clock, config, database, events, logger: logger.for("events") });
  starting.defer(() => retention.settled());
  const dropped = new DroppedRetention({ clock, config, database, logger: logger.for("collections") });
  starting.defer(() => dropped.settled());
  starting.defer(() => service.records.trash.settled());
  const http = new HttpServer({
    acme: front.acme,
    certificate: front.certificate,
    clientOf: instance?.clientOf,
    config: readers === null ? ownConfig : configWith(ownConfig, { port: await freePort(config) }),
    // A client waits for a paused handler.
    idleTimeout: inspectPort === undefined ? undefined : 0,
    isShared: readers !== null || instance !== undefined,
    onCertificate: async () => readers?.reload(),
    openRouter: (connections) => openRouter(api, connections),
    parts,
    stopping: signal,
  });
  starting.defer(() => stopHttp({ http, service, readers }, leftMs()));
  if (readers !== null) {
    await database.leadBy(readers);
    database.joinGaps(readers);
    await readers.start();
    logger.onLevel((level) => readers.setLogLevel(level));
  }
  if (continuous !== null) starting.adopt(continuous.start(database), (keeper) => keeper.stop());
  retention.start(signal);
  starting.defer(() => events.requests.settled());
  const indexer = events.startIndex(signal);
  starting.defer(() => indexer.settled());
  dropped.start(signal);
  service.records.trash.start(signal);
  service.mails.start(signal);
  starting.defer(() => service.undos.settled());
  service.undos.start(signal);
  starting.defer(() => api.keptAnswers.settled());
  api.keptAnswers.start(signal);
  starting.defer(() => stopping.abort());
  const control = openControl(
    config.database,
    controlAnswer({ admin: api.admin, config, service, scripts, backups }),
    logger,
  );
  starting.defer(() => control?.stop());
  announce(http, api, options);
  if (front.certificate !== null) void front.acme?.keep(front.certificate, signal);
  const readRoomsAgain = (): Promise<void> =>
    reloadRooms({ config, realtime: parts.realtime, service, logger: logger.for("rooms") });
  if (isDevelopment) await develop({ service, scripts, config, logger, applied, appliedRooms, readRoomsAgain, signal });
  // The work is told to end with the signal; the stack waits for the end.
  signal.addEventListener("abort", () => void backups.stop());
  const started = starting.move();
  return {
    url: http.url,
    service,
    scripts,
    /** Commands for a shell that lead to a first record; empty with records, or when the commands would need an admin. */
    firstSteps: () => firstSteps(service, http.url, config),
    works: () => readiness.works(),
    /** Loads functions, jobs, texts of mails and the certificate again. */
    async reload(): Promise<void> {
      reloadTexts(service, logger);
      // The other processes take the definitions of rooms that are read here.
      const others = readRoomsAgain().then(() => readers?.reload());
      await Promise.all([scripts.reload(), http.reload(), others]);
    },
    /** Stops accepting, finishes running requests within `ms`, flushes and closes the database. */
    async stop(ms = graceMs): Promise<void> {
      end = performance.now() + ms;
      stopping.abort();
      await started.disposeAsync();
    },
  };
}

interface OtherProcesses extends Pick<AppOptions, "config" | "environment" | "live" | "logger"> {
  readonly http: () => HttpServer;
  /** The number of the other processes. */
  readonly others: number;
  readonly rooms: () => Rooms;
  readonly scripts: Scripts;
  readonly service: Service;
  readonly wrote: (caller: string) => void;
}

/** The other processes of a service. They start with the state of the moment. */
function openReaders(options: OtherProcesses): ReaderProcesses {
  const { config, environment, http, live, logger, others, rooms, scripts, service, wrote } = options;
  const { auth, events, records } = service;
  const plain = plainConfig(readerPart(config, others + 1));
  return new ReaderProcesses(
    {
      auth,
      count: others,
      environment,
      events,
      logger: logger.for("processes"),
      onEntry: (entry) => logger.pass(entry),
      queries: scripts.queries,
      records,
      rooms,
      start: () => ({
        config: { ...plain, "log.level": logger.level },
        jwtSecret: auth.jwtSecret.reveal(),
        live: live.configured,
        paths: http().paths,
        port: http().port,
        version,
        versions: records.versions.state,
      }),
      wrote,
    },
    http,
  );
}

/** Work that has not ended is given up a little before connections are closed, so that the callers get an answer. */
async function stopHttp(
  { http, service, readers }: { http: HttpServer; service: Service; readers: ReaderProcesses | null },
  leftMs: number,
): Promise<void> {
  const giveUp = (): void => {
    service.database.giveUp();
    // The database gives up first, because the errors tell more.
    setTimeout(() => {
      http.giveUp();
      readers?.giveUp();
    }, answerMs / 2);
  };
  const givingUp = leftMs > answerMs ? setTimeout(giveUp, leftMs - answerMs) : undefined;
  // As long as a process has a running request, each process tells new requests of the stop.
  await Promise.all([http.refuse(leftMs), readers?.refuse(leftMs)]);
  clearTimeout(givingUp);
  await Promise.all([http.end(), readers?.stop()]);
}

/**
 * The answers of a service. The value of an outcome: of `admin`, "made" or "promoted"; of `definitions`, the
 * definitions of the next start; of `dropped`, a list of `DroppedEntry`; of `failures`, a `FailureAnswer`; of `logLevel`, a `LogLevelState`; of `readOnly`, a `ReadOnlyMode`; of `status`, a `ServiceStatus`; of `restore`, `RestoredValues`; of `seed`, a `SeedReport`; of `trace`, a `Trace`; of `import`, an `ImportReport`; of `export`, the number of
 * records.
 */
function controlAnswer(parts: {
  admin: ApiParts["admin"];
  config: Config;
  service: Service;
  scripts: Scripts;
  backups: Backups;
}): ControlAnswer {
  const { admin, config, service, scripts, backups } = parts;
  return async (request, { onLog, onProgress, signal }) => {
    switch (request.kind) {
      case "backup":
        await backups.toFile(request.file, request.passphrase, {
          onProgress: (done, total) => onProgress({ done, total }),
          onMissing: (message) => onLog({ level: "WARN", message }),
        });
        return { error: null };
      case "admin":
        return { error: null, value: await service.auth.makeAdmin(request) };
      case "seed":
        return { error: null, value: await seedFrom(request.file, service) };
      case "import":
        return { error: null, value: await importFile(service, request, onProgress) };
      case "export":
        return { error: null, value: await exportFile(service, request, onProgress) };
      case "status":
        return { error: null, value: await admin.status.now() };
      case "logs":
        await answerLogs(admin.log, request, { onLog, signal });
        return { error: null };
      case "logLevel":
        return { error: null, value: await answerLogLevel(admin.logLevel, request.level) };
      case "readOnly":
        return { error: null, value: await answerReadOnly(admin.readOnly, request.action) };
      case "failures":
        return { error: null, value: await answerFailures(admin.failures, request) };
      case "trace":
        return { error: null, value: await admin.traces.find(request.id, commandLine) };
      case "dropped":
        return { error: null, value: droppedIn(service) };
      case "restore":
        return { error: null, value: await restoreIn(service, request.id) };
      case "pulled":
        return { error: null, value: await keepPulled(service, config) };
      case "definitions":
        return { error: null, value: await definitionsOf(service, config) };
      default:
        return { error: await scripts.run(request, onLog) };
    }
  };
}

/** Reloads changed files, and keeps the types up to date. */
async function develop(options: {
  service: Service;
  scripts: Scripts;
  config: Config;
  logger: Logger;
  /** The last applied state of the definition files. */
  applied: string;
  /** The same of the definitions of rooms. */
  appliedRooms: string;
  readRoomsAgain: () => Promise<void>;
  signal: AbortSignal;
}): Promise<void> {
  const { service, scripts, config, logger, applied, appliedRooms, readRoomsAgain, signal } = options;
  let writing = Promise.resolve();
  // The writes follow each other, so that the last written file is the newest.
  const write = (): Promise<void> => {
    writing = writing.then(() =>
      writeTypes(config, definitionsNow(service)).catch((error) =>
        logger.error(`${typesFile} could not be written`, { error }),
      ),
    );
    return writing;
  };
  await write();
  service.events.listen(({ type }) => {
    if (type.startsWith("system.collection.")) void write();
  });
  scripts.watch(() => void write());
  const { collections, database } = service;
  const folder = join(config.folder, "collections");
  const apply = (): Promise<void> =>
    applyDefinitionFiles({ folder, collections, database, logger: logger.for("collections") }).then(
      // A migration or a room may wait for the definitions.
      () => Promise.all([scripts.migrate(), readRoomsAgain()]).then(() => undefined),
      (error) => logger.error(`Collections stay as they are: ${messageOf(error)}`),
    );
  watchFiles({ stateOf: () => folderState(folder, definitionFile), applied, apply, signal });
  const texts = join(config.folder, "mails");
  const readTexts = async (): Promise<void> => reloadTexts(service, logger);
  const roomsState = (): string => folderState(roomFolder(config.folder), definitionFile);
  watchFiles({ stateOf: roomsState, applied: appliedRooms, apply: readRoomsAgain, signal });
  watchFiles({ stateOf: () => folderState(texts, /\.(?:txt|html)$/), applied: "", apply: readTexts, signal });
}

function definitionsNow({ collections }: Service): CollectionDefinition[] {
  return [...collections.definitions().values()];
}

/** Reads the texts of mails again. The former texts stay when a file is not valid. */
function reloadTexts({ mails }: Service, logger: Logger): void {
  try {
    mails.reloadTexts();
  } catch (thrown) {
    logger.error(`The texts of mails stay as they are: ${messageOf(thrown)}`);
  }
}

/** Logs the addresses of the service. While no admin exists, the reader of the log may make the first admin. */
function announce({ url, redirectPort }: HttpServer, { admin, dashboard }: ApiParts, options: AppOptions): void {
  const { logger, adminCommand } = options;
  const token = admin.firstAdmin.invite();
  if (token !== null) {
    const address = `${url}${dashboard === null ? firstAdminPath : dashboardSetupPath}?token=${token}`;
    logger.notice(`There is no admin yet. Make one with: ${adminCommand}`);
    logger.notice(`Or make the first admin with this link, once and within 30 minutes: ${address}`);
  }
  logger.info(`The API is at ${url}/api/{collection}`);
  if (dashboard !== null) logger.info(`The dashboard is at ${url}${dashboardPath}`);
  logger.notice(`Listening on ${url}`);
  if (redirectPort !== null) logger.info(`Plain HTTP on port ${redirectPort} redirects to HTTPS`);
}

async function seedAdmin(service: Service, config: Config, logger: Logger): Promise<void> {
  const email = config["admin.email"];
  const password = config["admin.password"];
  if (email === undefined || password === undefined) return;
  try {
    const outcome = await service.auth.seedAdmin({ email, password: password.reveal() });
    if (outcome === "made") logger.info(`Made the admin ${email}`);
    if (outcome !== "spent" && (await isCommonPassword(password.reveal())))
      logger.warn("admin.password is one of the most common passwords: choose another password");
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
