/** The API of a service: admin, backups and kept answers over the parts that serve; for the server and for tests. */
import type { Config, LiveSettings } from "../base/config/index.ts";
import type { Logger, LogRing } from "../base/logging/index.ts";
import {
  type ApiParts,
  type AuthPages,
  type InstancePart,
  KeptAnswers,
  type WritePositions,
} from "../edge/http/index.ts";
import type { ReaderProcesses } from "../edge/processes/index.ts";
import { isBucket } from "../files/storage/index.ts";
import type { Realtime } from "../live/realtime/index.ts";
import { type AdminOptions, buildAdmin } from "../operate/admin/index.ts";
import { Backups, type ContinuousBackup } from "../operate/backup/index.ts";
import { Histories } from "../operate/history/index.ts";
import type { SpanExporter } from "../operate/traces/index.ts";
import { positionsOf, type RoleParts } from "./parts.ts";
import type { Scripts } from "./scripts.ts";
import { dataPathsOf, knownSchemas, type Service } from "./service.ts";

export interface ApiOptions {
  service: Service;
  scripts: Scripts;
  parts: RoleParts;
  logger: Logger;
  /** The settings of admins, and the configuration in the form for admins. */
  live: LiveSettings;
  /** The most recent entries of the logger. */
  log: LogRing;
  /** The version with the commit of the source, for backups. */
  build: string;
  /** Whether the log tells of each rule that refuses a request. */
  isDevelopment?: boolean | undefined;
  /** See `ScriptAdmin`. */
  reload: (() => void) | null;
  /** The reasons for which the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
  /** Served under `/_/auth/`; null for nothing. */
  pages: AuthPages | null;
  /** The part of the leader of a cluster. */
  instance?: InstancePart | undefined;
  /** See `OverviewSources`. */
  cluster?: AdminOptions["cluster"];
  /** Null without a continuous backup. */
  continuous?: ContinuousBackup | null;
  /** The certificate in use, in PEM; null without HTTPS. */
  certificate: () => string | null;
  /** The export of spans; null without a collector. */
  spans?: SpanExporter | null;
  /** The reader processes of the service; null for a single process. */
  readers?: ReaderProcesses | null;
}

/** The parts are built and not started. */
export function buildApi(options: ApiOptions): { api: ApiParts; backups: Backups } {
  const { service, scripts, parts, logger, readiness, pages, instance, readers = null } = options;
  const { config, realtime, version } = parts;
  const { clock, collections, database, events, storage } = service;
  const { endpoints } = scripts;
  const backups = new Backups({
    clock,
    config,
    continuous: options.continuous ?? null,
    database,
    events,
    logger: logger.for("backup"),
    paths: dataPathsOf(config),
    schemas: knownSchemas,
    storage,
    version: options.build,
  });
  const histories = new Histories(service);
  const admin = buildAdmin({
    ...service,
    histories,
    backups,
    cluster: options.cluster,
    certificate: options.certificate,
    config,
    disks: disksOf(config),
    live: options.live,
    endpoints,
    functions: scripts.functions,
    jobs: scripts.jobs,
    lag: parts.lag,
    log: options.log,
    logger: logger.for("admin"),
    meter: parts.meter,
    otherProcesses: readers === null ? undefined : () => readers.numbers(),
    otherSockets: readers === null ? undefined : () => readers.sockets(),
    processesLost: () => scripts.host.processesLost,
    readiness,
    realtime,
    scriptFiles: () => scripts.host.states(),
    code: () => scripts.code(),
    previews: scripts.previews,
    queryPool: scripts.pool,
    reload: options.reload,
    spans: options.spans ?? null,
    version,
  });
  const api: ApiParts = {
    ...parts,
    account: service.account,
    admin,
    collections,
    database,
    endpoints,
    histories,
    instance,
    isDevelopment: options.isDevelopment,
    notes: () => [...(instance?.notes() ?? []), ...backups.notes()],
    keptAnswers: new KeptAnswers({ clock, database, logger: parts.logger }),
    pages,
    positions: positions(realtime, readers, instance),
    providers: service.providers,
    readiness,
    serverQueries: scripts.queries,
    transfers: service.transfers,
  };
  return { api, backups };
}

function positions(
  realtime: Realtime,
  readers: ReaderProcesses | null,
  instance: InstancePart | undefined,
): WritePositions {
  if (instance !== undefined)
    return positionsOf(realtime, { areThere: () => true, isForReads: true, wrote: instance.wrote });
  if (readers === null) return realtime;
  return positionsOf(realtime, {
    areThere: () => readers.hears,
    isForReads: false,
    wrote: (caller) => readers.wrote(caller),
  });
}

/** Paths on disks that the service writes to: the database, and the files unless the files are in a bucket. */
export function disksOf({ database, storage }: Config): string[] {
  return isBucket(storage) ? [database] : [database, storage];
}
