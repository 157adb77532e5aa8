/** The API of a service: realtime, admin, backups and limits, built from the configuration; for the server and for tests. */
import type { EffectiveConfig } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { type EventLoopLag, type Logger, type LogRing, RequestMeter } from "../base/logging/index.ts";
import {
  type ApiParts,
  type AuthPages,
  type Dashboard,
  type InstancePart,
  KeptAnswers,
  type StaticFiles,
  type WritePositions,
} from "../edge/http/index.ts";
import type { ReaderProcesses } from "../edge/processes/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { Realtime, type RealtimeOptions } from "../live/realtime/index.ts";
import { buildAdmin } from "../operate/admin/index.ts";
import { Backups } from "../operate/backup/index.ts";
import type { Scripts } from "./scripts.ts";
import { dataPathsOf, type Service } from "./service.ts";

export interface ApiOptions {
  /** Whether the log tells of each rule that refuses a request. */
  isDevelopment?: boolean | undefined;
  service: Service;
  scripts: Scripts;
  config: Config;
  /** The configuration in the form for admins. */
  effective: () => EffectiveConfig;
  logger: Logger;
  /** The most recent entries of the logger. */
  log: LogRing;
  version: string;
  /** The version with the commit of the source, for backups. */
  build?: string;
  lag: EventLoopLag;
  /** The reasons for which the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
  /** Served for paths without a route; null for nothing. */
  files: StaticFiles | null;
  /** Served under `/_/`; null for nothing. */
  dashboard: Dashboard | null;
  /** Served under `/_/auth/`; null for nothing. */
  pages: AuthPages | null;
  /** The part of the leader of a cluster. */
  instance?: InstancePart | undefined;
  /** See `OverviewSources`. */
  cluster?: Parameters<typeof buildAdmin>[0]["cluster"];
  /** The reader processes of the service; null for a single process. */
  readers?: ReaderProcesses | null;
}

/** The options of realtime by the configuration. @param parts `named`: the server queries. */
export function realtimeOptions(parts: {
  service: Service;
  config: Config;
  logger: Logger;
  named: RealtimeOptions["named"];
}): RealtimeOptions {
  const { service, config, logger, named } = parts;
  return {
    ...service,
    named,
    logger: logger.for("realtime"),
    bufferLimit: config["realtime.bufferLimit"],
    bufferTotal: config["realtime.bufferTotal"],
    maxSubscriptions: config["limits.subscriptions"],
    maxFilters: config["limits.filters"],
    filterTime: config["limits.filterTime"],
    liveEvery: config["realtime.liveEvery"],
    maxLiveRecords: config["limits.liveRecords"],
    serviceEvents: config["realtime.serviceEvents"],
  };
}

/** The positions of an instance of a cluster, which answers to reads tell, too. */
export function positionsOf(realtime: Realtime, ofOthers?: InstancePart["wrote"]): WritePositions {
  return {
    get seq() {
      return realtime.seq;
    },
    get hasViewers() {
      return realtime.hasViewers || ofOthers !== undefined;
    },
    isForReads: true,
    wrote(caller) {
      realtime.wrote(caller);
      ofOthers?.(caller, realtime.seq);
    },
  };
}

/** The parts are built and not started. */
export function buildApi(options: ApiOptions): { parts: ApiParts; backups: Backups } {
  const { service, scripts, config, logger } = options;
  const realtime = new Realtime({
    ...realtimeOptions({ ...options, named: scripts.queries }),
    ...(options.instance && { beforeSocket: options.instance.beforeSocket }),
  });
  const { readers = null } = options;
  const ofAll = readers && {
    otherProcesses: () => readers.numbers(),
    positions: {
      get seq() {
        return realtime.seq;
      },
      get hasViewers() {
        return realtime.hasViewers || readers.hears;
      },
      wrote(caller: string) {
        realtime.wrote(caller);
        readers.wrote(caller);
      },
    },
  };
  const ofInstance = options.instance && {
    instance: options.instance,
    positions: positionsOf(realtime, options.instance.wrote),
  };
  const core = { ...options, ...service, ...ofAll, ...ofInstance, realtime, meter: new RequestMeter() };
  const backups = new Backups({
    ...core,
    version: options.build ?? options.version,
    logger: logger.for("backup"),
    paths: dataPathsOf(config),
    settings: config,
  });
  const { functions, jobs, endpoints, queries: serverQueries } = scripts;
  const admin = buildAdmin({
    ...core,
    functions,
    jobs,
    endpoints,
    backups,
    logger: logger.for("admin"),
    disks: disksOf(config),
    processesLost: () => scripts.host.processesLost,
    scriptFiles: () => scripts.host.states(),
  });
  const keptAnswers = new KeptAnswers({ ...service, logger: logger.for("http") });
  return { parts: { ...core, admin, endpoints, serverQueries, keptAnswers, logger: logger.for("http") }, backups };
}

/** Paths on disks that the service writes to: the database, and the files unless the files are in a bucket. */
export function disksOf({ database, storage }: Config): string[] {
  return isBucket(storage) ? [database] : [database, storage];
}
