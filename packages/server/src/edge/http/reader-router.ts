/**
 * The router of a reader process: the reads that need nothing but the database, the files and the sockets. All other requests go to
 * the leader, with the place in the table of the leader.
 */
import type { Config } from "../../base/config/index.ts";
import type { LimitMeter, Logger, RequestMeter } from "../../base/logging/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Realtime } from "../../live/realtime/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import { type Connections, inFlightOf, listsOf } from "./api-router.ts";
import { Bodies } from "./bodies.ts";
import type { Dashboard } from "./dashboard.ts";
import type { WritePositions } from "./exchange.ts";
import { type ForwardRequest, NeedsLeader } from "./forwarding.ts";
import { Cors } from "./headers.ts";
import type { HttpRequest } from "./passed-request.ts";
import { RateLimiter, RequestLimiter } from "./rate-limiter.ts";
import type { Routes } from "./route.ts";
import { Router } from "./router.ts";
import { meReads } from "./routes/auth-account.ts";
import { clientRoutes } from "./routes/client.ts";
import { aliveRoutes, metricsRoutes, readinessRoutes } from "./routes/health.ts";
import { realtimeRoutes } from "./routes/realtime.ts";
import { recordReads } from "./routes/records.ts";
import { storageReads } from "./routes/storage.ts";
import type { StaticFiles } from "./static-files.ts";

export interface ReaderParts {
  readonly config: Config;
  readonly auth: Auth;
  readonly records: Records;
  readonly queries: Queries;
  readonly storage: Storage;
  readonly realtime: Realtime;
  readonly meter: RequestMeter;
  readonly limits: LimitMeter;
  readonly files: StaticFiles | null;
  readonly dashboard: Dashboard | null;
  readonly logger: Logger;
  readonly version: string;
  /** The paths of the leader's table. */
  readonly paths: readonly string[];
  readonly passOn: ForwardRequest;
  /** Why this instance of a cluster is not ready; absent in a reader process. */
  readonly readiness?: () => Promise<readonly string[]>;
  readonly notes?: () => readonly string[];
  /** The metrics of this instance of a cluster; absent in a reader process. */
  readonly metrics?: () => Promise<string>;
  /** See `ApiParts`. */
  readonly positions?: WritePositions;
  /** See `InstancePart`. */
  readonly admit?: (request: HttpRequest) => Promise<void> | null;
}

/** The routes that a reader process answers. Rates count in the leader, so the leader answers reads with a rate. */
function readsOf(parts: ReaderParts, { upgrade }: Pick<Connections, "upgrade">, cors: Cors): Routes {
  const { config, storage } = parts;
  const hasRate = config["limits.rate.records"] !== null;
  return {
    ...aliveRoutes(parts),
    ...(parts.readiness && readinessRoutes({ ...parts, readiness: parts.readiness })),
    ...(parts.metrics && metricsRoutes({ config, metrics: parts.metrics })),
    ...clientRoutes(),
    ...meReads(parts),
    ...storageReads({
      storage,
      thumbnail: async (file, size) => {
        const kept = await storage.keptThumbnail(file, size);
        if (kept === null) throw new NeedsLeader();
        return kept;
      },
    }),
    ...realtimeRoutes({ ...parts, upgrade, cors }),
    ...(hasRate ? {} : recordReads({ ...parts, lists: listsOf(parts) })),
  };
}

/** The router of a reader process, with all paths of the leader. */
export function openReaderRouter(parts: ReaderParts, connections: Pick<Connections, "upgrade" | "addressOf">): Router {
  const { config, auth, limits, realtime, paths } = parts;
  const cors = new Cors(config["cors.origins"], parts.logger);
  const reads = readsOf(parts, connections, cors);
  const requestLimits = config["limits.requests"];
  const limiter = requestLimits.length === 0 ? null : new RequestLimiter(requestLimits);
  return new Router({
    ...parts,
    routes: Object.fromEntries(paths.map((path) => [path, reads[path] ?? {}])),
    endpoints: null,
    limit:
      limiter &&
      (async ({ request }) => {
        if (limiter.concerns(request)) throw new NeedsLeader();
      }),
    rates: new RateLimiter({}),
    accessPercent: config["log.access"],
    service: {
      cors,
      callers: auth.callers,
      addressOf: connections.addressOf,
      inFlight: inFlightOf(config, limits),
      bodies: new Bodies(config["limits.bodies"]),
      bodyLimit: config["limits.body"],
      positions: parts.positions ?? realtime,
    },
  });
}
