/** The API of a service: realtime, admin, backups and limits, built from the configuration; for the server and for tests. */
import type { EffectiveConfig } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { type EventLoopLag, type Logger, type LogRing, RequestMeter } from "../base/logging/index.ts";
import type { ApiParts, Dashboard, StaticFiles } from "../edge/http/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { Realtime } from "../live/realtime/index.ts";
import { buildAdmin } from "../operate/admin/index.ts";
import { Backups } from "../operate/backup/index.ts";
import type { Scripts } from "./scripts.ts";
import { dataPathsOf, type Service } from "./service.ts";

export interface ApiOptions {
  service: Service;
  scripts: Scripts;
  config: Config;
  /** The configuration in the form for admins. */
  effective: () => EffectiveConfig;
  logger: Logger;
  /** The most recent entries of the logger. */
  log: LogRing;
  version: string;
  lag: EventLoopLag;
  /** The reasons for which the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
  /** Served for paths without a route; null for nothing. */
  files: StaticFiles | null;
  /** Served under `/_/`; null for nothing. */
  dashboard: Dashboard | null;
}

/** The parts are built and not started. */
export function buildApi(options: ApiOptions): { parts: ApiParts; backups: Backups } {
  const { service, scripts, config, logger, version, readiness, files, dashboard } = options;
  const realtime = new Realtime({
    ...service,
    logger: logger.for("realtime"),
    bufferLimit: config["realtime.bufferLimit"],
    bufferTotal: config["realtime.bufferTotal"],
    maxSubscriptions: config["limits.subscriptions"],
    maxFilters: config["limits.filters"],
    filterTime: config["limits.filterTime"],
    serviceEvents: config["realtime.serviceEvents"],
  });
  const paths = dataPathsOf(config);
  const backups = new Backups({ ...service, logger: logger.for("backup"), paths, settings: config, version });
  const meter = new RequestMeter();
  const { functions, jobs, endpoints } = scripts;
  const admin = buildAdmin({
    ...service,
    version,
    effective: options.effective,
    realtime,
    functions,
    jobs,
    endpoints,
    backups,
    logger: logger.for("admin"),
    log: options.log,
    meter,
    lag: options.lag,
    disks: disksOf(config),
    readiness,
    processesLost: () => scripts.host.processesLost,
    scriptFiles: () => scripts.host.states(),
  });
  const parts: ApiParts = {
    ...service,
    config,
    realtime,
    admin,
    meter,
    files,
    dashboard,
    readiness,
    logger: logger.for("http"),
    version,
    endpoints,
  };
  return { parts, backups };
}

/** Paths whose disks the service writes to: the database, and the files unless the files are in a bucket. */
export function disksOf({ database, storage }: Config): string[] {
  return isBucket(storage) ? [database] : [database, storage];
}
