/** Service: builds every module but the network, opens the database, and applies the definition files. */
import { join } from "node:path";
import { Auth, authSchema, userTable } from "../auth/index.ts";
import { type DataPaths, isRestoring, putRight } from "../backup/index.ts";
import { applyDefinitionFiles, Collections, collectionSchema } from "../collections/index.ts";
import type { Config } from "../config/index.ts";
import { asSetupError, type Database, type ModuleSchema, SqliteDatabase } from "../database/index.ts";
import { EventLog, eventSchema } from "../events/index.ts";
import { functionSchema } from "../functions/index.ts";
import { jobSchema } from "../jobs/index.ts";
import { Clock, threadEntry, toTimestamp } from "../kernel/index.ts";
import { LimitMeter, type Logger } from "../logging/index.ts";
import { Queries } from "../queries/index.ts";
import { Records } from "../records/index.ts";
import { openDriver, Storage, storageSchema } from "../storage/index.ts";
import { Transfers } from "../transfer/index.ts";
import { keepFilesPrivate, warnOfOpenFiles } from "./file-modes.ts";
import { refuseMissingDatabase } from "./missing-database.ts";

export interface ServiceOptions {
  config: Config;
  logger: Logger;
  /** Called once when the disk has failed: nothing is accepted any more, and the process should end. */
  onFatal: (error: unknown) => void;
  /** The machine's clock, except in tests. */
  clock?: Clock;
}

/** Everything but the network: `socle serve` puts it behind HTTP, other commands use it directly. */
export interface Service extends AsyncDisposable {
  readonly limits: LimitMeter;
  readonly database: Database;
  readonly clock: Clock;
  readonly events: EventLog;
  readonly collections: Collections;
  readonly auth: Auth;
  readonly records: Records;
  readonly queries: Queries;
  readonly transfers: Transfers;
  readonly storage: Storage;
  /** See `Database`. */
  giveUp(): void;
  /** Ends the threads of passwords, and closes the database. */
  close(graceMs?: number): Promise<void>;
}

const schemas: readonly ModuleSchema[] = [
  eventSchema,
  collectionSchema,
  authSchema,
  storageSchema,
  functionSchema,
  jobSchema,
];

/** The version of each module's tables that this build makes and knows. */
export const knownSchemas = Object.fromEntries(schemas.map(({ module, steps }) => [module, steps.length]));

/** Where the service of a configuration keeps its data. */
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
 * Opens the service: builds it, applies the definition files, and finishes interrupted work.
 * @throws SetupError with one readable line; the database is closed again then.
 */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { config, logger } = options;
  await using opening = new AsyncDisposableStack();
  const service = opening.use(await buildService(options));
  const { collections, database, events, auth, records, storage } = service;
  try {
    await events.start();
    await collections.start();
    await applyDefinitionFiles({
      folder: join(config.folder, "collections"),
      collections,
      database,
      logger: logger.for("collections"),
    });
    await auth.start();
    await records.start();
    await storage.start();
  } catch (thrown) {
    throw asSetupError(config.database, thrown);
  }
  opening.move();
  return service;
}

/**
 * Builds the service for `openService` and for commands that need a part of it: opens the database and brings every
 * table to this version. Nothing is started.
 * @throws SetupError with one readable line; the database is closed again then.
 */
export async function buildService({ config, logger, onFatal, clock: given }: ServiceOptions): Promise<Service> {
  const paths = dataPathsOf(config);
  if (!isRestoring(paths)) refuseMissingDatabase(config);
  keepFilesPrivate();
  const databaseLogger = logger.for("database");
  const database = new SqliteDatabase({
    path: config.database,
    logger: databaseLogger,
    onFatal,
    onLocked() {
      if (putRight(paths)) databaseLogger.info("A restore that was interrupted has been brought to its end");
    },
    logLimit: config["limits.wal"],
    queryThread: threadEntry("queries/query-thread"),
    maxQueries: config["limits.queries"],
    threadLimitMs: config["limits.queryTime"],
    hasReserve: true,
  });
  const folder = config.storage.startsWith("s3://") ? `${config.database}-files` : config.storage;
  warnOfOpenFiles([database.path, `${database.path}-wal`, folder], databaseLogger);
  const limits = new LimitMeter(logger.for("limits"));
  try {
    const clock = given ?? new Clock(warnOfStepsBack(logger.for("clock")));
    const events = new EventLog({ database, clock, logger: logger.for("events") });
    const collections = new Collections({
      database,
      events,
      clock,
      users: userTable,
      logger: logger.for("collections"),
    });
    const auth = new Auth({
      database,
      events,
      clock,
      logger: logger.for("auth"),
      limits,
      jwtSecret: config["auth.jwtSecret"],
      accessTokenTtlMs: config["auth.accessTokenTtl"],
      refreshTokenTtlMs: config["auth.refreshTokenTtl"],
      registration: config["auth.registration"],
      passwordMinLength: config["auth.passwordMinLength"],
      maxPasswords: config["limits.passwords"],
      maxSessionsPerUser: config["limits.sessionsPerUser"],
      adminEmail: config["admin.email"],
    });
    const storageLogger = logger.for("storage");
    const storage = new Storage({
      database,
      events,
      clock,
      logger: storageLogger,
      driver: await openDriver({ ...paths.files, logger: storageLogger }),
      thumbsCacheSize: config["thumbs.cacheSize"],
      maxThumbnails: config["limits.thumbnails"],
      quota: { total: config["limits.storage"], perUser: config["limits.storagePerUser"] },
      links: { key: () => auth.secretFor("file links"), ttlMs: config["links.ttl"] },
      isShownByRecord: (id, caller) => queries.isShownByRecord(id, caller),
      isShownNow: (reader, id, principal) => queries.isShownNow(reader, id, principal),
    });
    const records = new Records({
      database,
      collections,
      events,
      clock,
      lookups: {
        userExists: (reader, id) => auth.users.exists(reader, id),
        fileStanding: (reader, id, principal) => storage.standing(reader, id, principal),
      },
      logger: logger.for("records"),
      maxCascade: config["limits.cascade"],
    });
    const queries = new Queries({
      database,
      collections,
      records,
      cursorKey: () => auth.secretFor("cursors"),
      logger: logger.for("queries"),
      slowQueryMs: config["log.slowQuery"],
    });

    await database.prepare(schemas);
    const close = async (graceMs?: number): Promise<void> => {
      await Promise.all([auth.close(), database.close(graceMs)]);
    };
    return {
      limits,
      database,
      clock,
      events,
      collections,
      auth,
      records,
      queries,
      transfers: new Transfers({ database, records, clock }),
      storage,
      giveUp: () => database.giveUp(),
      close,
      [Symbol.asyncDispose]: () => close(),
    };
  } catch (thrown) {
    await database.close();
    throw asSetupError(config.database, thrown);
  }
}

/** Tells that the machine's clock was set back, once a minute at most. */
function warnOfStepsBack(logger: Logger): (from: number, to: number) => void {
  let quietUntil = 0;
  return (from, to) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + 60_000;
    logger.warn(
      `The machine's clock was set back from ${toTimestamp(from)} to ${toTimestamp(to)}. Times of records and events follow it; their order does not change.`,
    );
  };
}
