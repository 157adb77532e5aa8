/** Service: builds every module but the network, opens the database, and applies the definition files. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../base/config/index.ts";
import { AppError, Clock, SetupError, threadEntry, toTimestamp } from "../base/kernel/index.ts";
import { LimitMeter, type Logger } from "../base/logging/index.ts";
import { followCollection, functionSchema } from "../code/functions/index.ts";
import { jobSchema } from "../code/jobs/index.ts";
import { migrationSchema } from "../code/migrations/index.ts";
import { QueryPool } from "../code/script-host/index.ts";
import { applyDefinitionFiles, Collections, collectionSchema } from "../data/collections/index.ts";
import { LiveLists, Queries, ShownFiles } from "../data/queries/index.ts";
import { Records } from "../data/records/index.ts";
import { Transfers } from "../data/transfer/index.ts";
import { keptAnswerSchema } from "../edge/http/index.ts";
import { fileAccess, isBucket, openDriver, removedFileSchema, Storage, storageSchema } from "../files/storage/index.ts";
import { alertSchema, settingSchema } from "../operate/admin/index.ts";
import { type ContinuousBackup, type DataPaths, hasMoves, putRight } from "../operate/backup/index.ts";
import { Undos, undoSchema } from "../operate/undo/index.ts";
import { Account, Auth, authSchema, type PasswordCost, UserDeletions, userTable } from "../people/auth/index.ts";
import { Mails, mailSchema } from "../people/mail/index.ts";
import {
  asSetupError,
  chainSchema,
  Database,
  type DatabaseOptions,
  ifDamaged,
  type ModuleSchema,
  positionSchema,
  readOnlySchema,
} from "../store/database/index.ts";
import { EventLog, eventSchema } from "../store/events/index.ts";
import { Failures, failureSchema } from "../store/failures/index.ts";
import { keepFilesPrivate, warnOfOpenFiles } from "./file-modes.ts";

export interface ServiceOptions {
  config: Config;
  logger: Logger;
  /** Called once when the disk has failed: the service refuses all work, and the process should end. */
  onFatal: (error: unknown) => void;
  /** The machine's clock, except in tests. */
  clock?: Clock | undefined;
  /** The work of hashing a password, for tests of this process; by default the full work. No configuration lowers the work. */
  passwordCost?: PasswordCost | undefined;
  /** For the leader of a cluster: brings the database to the end of the journal, before any module reads. */
  joinCluster?: ((database: Database) => Promise<void>) | undefined;
  /** Takes copies of all commits; without it, the database leaves the chain of the copies. */
  copies?: Pick<ContinuousBackup, "open" | "use"> | undefined;
  /** The caller changes nothing, so the database may also be the database of an instance of a cluster. */
  onlyReads?: boolean;
}

/** Everything except the network: `socle serve` adds HTTP, other commands use the service directly. */
export type Service = Awaited<ReturnType<typeof buildService>>;

const schemas: readonly ModuleSchema[] = [
  eventSchema,
  collectionSchema,
  authSchema,
  mailSchema,
  storageSchema,
  removedFileSchema,
  functionSchema,
  jobSchema,
  migrationSchema,
  keptAnswerSchema,
  failureSchema,
  undoSchema,
  alertSchema,
  settingSchema,
  positionSchema,
  readOnlySchema,
  chainSchema,
];

/** The version of each module's tables that this build makes and knows. */
export const knownSchemas = Object.fromEntries(schemas.map(({ module, steps }) => [module, steps.length]));

export function dataPathsOf(config: Config): DataPaths {
  return {
    database: config.database,
    files: {
      address: config.storage,
      workFolder: `${config.database}-files`,
      s3: {
        endpoint: config["s3.endpoint"],
        region: config["s3.region"],
        accessKeyId: config["s3.accessKeyId"],
        secretAccessKey: config["s3.secretAccessKey"],
      },
    },
  };
}

/**
 * Opens the service: builds the parts, applies the definition files, and finishes interrupted work.
 * @throws SetupError with a readable line; the database is closed then.
 */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { config, logger } = options;
  await using opening = new AsyncDisposableStack();
  const service = opening.use(await buildService(options));
  const { collections, database, events, auth, records, storage } = service;
  try {
    events.start();
    // If the storage is not writable, the start must end before any migration.
    await storage.start();
    await collections.start();
    await collections.lookAtOrder();
    await collections.foldWords();
    await auth.users.normaliseEmails();
    await applyDefinitionFiles({
      folder: join(config.folder, "collections"),
      collections,
      database,
      logger: logger.for("collections"),
    });
    await auth.start();
    await records.start();
  } catch (thrown) {
    // The instance of a cluster tries again when the journal cannot be reached, or when another instance leads meanwhile.
    const isForNow = options.joinCluster !== undefined && thrown instanceof AppError && thrown.code === "unavailable";
    throw isForNow ? thrown : asSetupError(config.database, thrown);
  }
  opening.move();
  return service;
}

/**
 * Builds the service for `openService` and for commands that need a part of the service: opens the database and brings every
 * table to this version. No part is started.
 * @throws SetupError with a readable line; the database is closed then.
 */
export async function buildService(options: ServiceOptions) {
  const { config, copies, logger, onFatal, joinCluster } = options;
  const paths = dataPathsOf(config);
  // In a cluster, the journal has the data.
  if (!hasMoves(paths) && joinCluster === undefined) refuseMissingDatabase(config);
  keepFilesPrivate();
  const databaseLogger = logger.for("database");
  const database = openDatabase(options, {
    onFatal,
    onLocked() {
      if (putRight(paths)) databaseLogger.info("A restore that was interrupted has been brought to its end");
    },
    hasReserve: true,
    // The journal keeps the commits of a cluster.
    sync: joinCluster && (async () => undefined),
  });
  const folder = isBucket(config.storage) ? `${config.database}-files` : config.storage;
  warnOfOpenFiles([database.path, `${database.path}-wal`, folder], databaseLogger);
  try {
    if (joinCluster !== undefined) await joinCluster(database);
    await (copies?.open(database) ?? database.leaveChain());
    const isClosed = joinCluster === undefined && database.journal !== null;
    if (isClosed) refuseJournal(database, options);
    const service = assemble(database, options);
    copies?.use(service.storage);
    if (!isClosed) {
      await database.prepare(schemas);
      database.readOnly.load(database.reader);
    }
    return service;
  } catch (thrown) {
    await database.close();
    // The instance of a cluster mends a database that does not follow the journal.
    throw joinCluster === undefined ? asSetupError(config.database, thrown) : thrown;
  }
}

/**
 * Refuses the database of an instance of a cluster: a change beside the journal is a change that no other instance has.
 * @throws SetupError, unless the caller only reads tables of this version.
 */
function refuseJournal(database: Database, { config, onlyReads = false }: ServiceOptions): void {
  const versions = database.tableVersions();
  const isKnown = Object.entries(knownSchemas).every(([module, version]) => versions.get(module) === version);
  if (onlyReads && isKnown) return;
  throw new SetupError(
    config["cluster.journal"] === undefined
      ? `database ${database.path}: belongs to the journal of a cluster, and no cluster serves here now. Configure the cluster (cluster.journal); or restore a backup or a snapshot of the cluster with socle restore, as the database of a single service${ifDamaged}`
      : `database ${database.path}: belongs to the journal of cluster.name ${config["cluster.name"]}, which the leader alone changes: run the command beside the leader, while the leader serves (socle cluster status names the leader)`,
  );
}

/** Opens the database of the configuration. @param use whether this process writes, follows the journal of a cluster, or reads. */
export function openDatabase(
  { config, logger }: Pick<ServiceOptions, "config" | "logger">,
  use: Pick<DatabaseOptions, "onFatal" | "onLocked" | "hasReserve" | "isReader" | "sync">,
): Database {
  return new Database({
    ...use,
    logger: logger.for("database"),
    logLimit: config["limits.wal"],
    maxQueries: config["limits.queries"],
    path: config.database,
    queryThread: threadEntry("data/queries/query-thread"),
    threadLimitMs: config["limits.queryTime"],
  });
}

/** The bound of waiting queries of views, as a multiple of the bound of one caller. */
const viewersAtOnce = 4;

/** Builds the modules over an open database. No part is started. */
export function assemble(database: Database, options: Omit<ServiceOptions, "onFatal">) {
  const { config, logger } = options;
  const paths = dataPathsOf(config);
  const limits = new LimitMeter(logger.for("limits"));
  const clock = options.clock ?? new Clock(warnOfStepsBack(logger.for("clock")));
  const events = new EventLog({ clock, database, logger: logger.for("events") });
  const collections = new Collections({
    clock,
    database,
    events,
    logger: logger.for("collections"),
    renamed: followCollection,
    users: userTable,
  });
  const failures = new Failures({ database, logger: logger.for("failures") });
  const mails = new Mails({ clock, config, database, failures, logger: logger.for("mail") });
  const shown = new ShownFiles(collections);
  const records = new Records({
    clock,
    collections,
    config,
    database,
    events,
    logger: logger.for("records"),
    lookups: {
      userExists: (reader, id) => auth.users.find(id, reader) !== null,
      fileAccess: (reader, id, principal) =>
        fileAccess(reader, { id, principal }, () => shown.isShown(reader, id, principal)),
    },
    maxCascade: config["limits.cascade"],
  });
  const auth = new Auth({
    clock,
    config,
    database,
    events,
    limits,
    logger: logger.for("auth"),
    mails,
    passwordCost: options.passwordCost,
    records: records.users,
    turns: records.turns,
  });
  const userDeletions = new UserDeletions({
    database,
    logger: logger.for("auth"),
    users: auth.users,
    relations: records.deletions,
  });
  auth.sweepWith((before, signal) => userDeletions.removeUnused(before, signal));
  const { "limits.queries": waitingShare, "limits.queryTime": timeoutMs } = config;
  const views = new QueryPool({
    cwd: dirname(database.path),
    environment: {},
    options: { database: database.path, tables: [] },
    timeoutMs,
    aliased: () => [],
    views: { waitingShare, maxWaiting: viewersAtOnce * waitingShare },
  });
  database.joinGaps(views);
  const queries = new Queries({
    collections,
    cursorKey: () => auth.secretFor("cursors"),
    database,
    logger: logger.for("queries"),
    records,
    slowQueryMs: () => config["log.slowQuery"],
    vectorMemory: config["limits.vectorMemory"],
    views,
  });
  const storageLogger = logger.for("storage");
  const storage = new Storage({
    clock,
    config,
    database,
    driver: openDriver({ ...paths.files, logger: storageLogger }),
    events,
    isShownByRecord: (id, caller) => queries.isShownByRecord(id, caller),
    linkKey: () => auth.secretFor("file links"),
    logger: storageLogger,
  });
  /** Ends the threads of passwords, and closes the database. */
  const close = async (graceMs?: number): Promise<void> => {
    await Promise.all([auth.close(), views.stop().then(() => database.close(graceMs))]);
  };
  return {
    account: new Account({ auth, database, events, userDeletions }),
    auth,
    clock,
    close,
    collections,
    database,
    events,
    failures,
    limits,
    lists: new LiveLists({ queries, collections }),
    mails,
    providers: auth.providers,
    queries,
    records,
    storage,
    transfers: new Transfers({ clock, config, database, records }),
    undos: new Undos({
      clock,
      database,
      events,
      logger: logger.for("undo"),
      maxChanges: config["limits.undo"],
      records,
    }),
    userDeletions,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** Logs that the machine's clock was set back, at most once a minute. */
function warnOfStepsBack(logger: Logger): (from: number, to: number) => void {
  let quietUntil = 0;
  return (from, to) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + 60_000;
    logger.warn(
      `The machine's clock was set back from ${toTimestamp(from)} to ${toTimestamp(to)}. Times of records and events follow the clock; their order does not change.`,
    );
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Whether a folder holds files of a service: `ab/fil_…ab`, as the local driver names files. */
function holdsFiles(folder: string): boolean {
  if (isBucket(folder) || !existsSync(folder)) return false;
  const names = readdirSync(folder).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return names.some((name) => readdirSync(join(folder, name)).some((file) => file.startsWith("fil_")));
}

/**
 * Refuses a missing database in a place of earlier data: a volume that is not mounted, a wrong path, an emptied file. A
 * service that made a new database would take writes that nobody finds again, and would offer the first admin to any
 * visitor.
 * @throws SetupError when the database is missing or empty, and must not be.
 */
export function refuseMissingDatabase(config: Config): void {
  const { database, storage } = config;
  // A service that was killed at the very start has everything in the log.
  if (sizeOf(database) > 0 || sizeOf(`${database}-wal`) > 0) return;
  const state = existsSync(database) ? "is empty" : "is missing";
  if (config["database.mustExist"])
    throw new SetupError(`database ${database}: ${state}, and database.mustExist says that it must be there`);
  if (holdsFiles(storage))
    throw new SetupError(
      `database ${database}: ${state}, but ${storage} holds the files of a service. Mount the database, or restore a backup with socle restore; to begin anew, move these files away`,
    );
}
