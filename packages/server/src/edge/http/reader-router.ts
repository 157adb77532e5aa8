/**
 * The router of a reader process: the reads that need nothing but the database, the files, the sockets, and writes of a record, whose
 * operations the leader runs. All other requests go to the leader, with the place in the table of the leader.
 */
import { type Connections, inFlightOf, listsOf, type ServingParts } from "./api-router.ts";
import { Bodies } from "./bodies.ts";
import type { WritePositions } from "./exchange.ts";
import { type ForwardRequest, NeedsLeader } from "./forwarding.ts";
import { Cors } from "./headers.ts";
import { RequestLimiter } from "./rate-limiter.ts";
import type { RunOperation } from "./record-operations.ts";
import type { Routes } from "./route.ts";
import { Router } from "./router.ts";
import { meReads } from "./routes/auth-account.ts";
import { clientRoutes } from "./routes/client.ts";
import { aliveRoutes, metricsRoutes, readinessRoutes } from "./routes/health.ts";
import { realtimeRoutes } from "./routes/realtime.ts";
import { recordReads, recordRoutes } from "./routes/records.ts";
import { storageReads } from "./routes/storage.ts";

export interface ReaderParts {
  readonly parts: ServingParts;
  /** The paths of the leader's table. */
  readonly paths: readonly string[];
  readonly passOn: ForwardRequest;
  /** Runs an operation in the leader; absent in an instance of a cluster, which passes each write on. */
  readonly run?: RunOperation;
  /** Why this instance of a cluster is not ready; absent in a reader process. */
  readonly readiness?: () => Promise<readonly string[]>;
  readonly notes?: () => readonly string[];
  /** The metrics of this instance of a cluster; absent in a reader process. */
  readonly metrics?: () => Promise<string>;
  /** The routes for the leader of a cluster; absent in a reader process. */
  readonly routes?: Routes;
  readonly positions: WritePositions;
  /** See `InstancePart`. */
  readonly admit?: (request: Request) => Promise<void> | null;
}

/** The routes that a reader process answers. */
function readsOf(
  { parts, readiness, notes, metrics, run }: ReaderParts,
  { upgrade }: Pick<Connections, "upgrade">,
  cors: Cors,
): Routes {
  const { config, queries, realtime, records, storage, version } = parts;
  const api = { config, lists: listsOf(parts), queries, records };
  return {
    ...aliveRoutes(parts),
    ...(readiness && readinessRoutes({ notes, readiness, version })),
    ...(metrics && metricsRoutes({ config, metrics })),
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
    ...realtimeRoutes({ cors, realtime, upgrade }),
    ...(run === undefined ? recordReads(api) : recordRoutes({ ...api, idempotency: null, run })),
  };
}

/** The router of a reader process, with all paths of the leader. */
export function openReaderRouter(
  own: ReaderParts,
  connections: Pick<Connections, "upgrade" | "addressOf" | "listenUrl">,
): Router {
  const { parts, paths } = own;
  const { auth, config, limits, logger } = parts;
  const cors = new Cors(config["cors.origins"], logger);
  const reads = readsOf(own, connections, cors);
  const requestLimits = config["limits.requests"];
  const limiter = requestLimits.length === 0 ? null : new RequestLimiter(requestLimits);
  return new Router({
    accessPercent: config["log.access"],
    admit: own.admit,
    dashboard: parts.dashboard,
    endpoints: null,
    files: parts.files,
    limit:
      limiter &&
      (async ({ request }) => {
        if (limiter.concerns(request)) throw new NeedsLeader();
      }),
    limits,
    logger,
    meter: parts.meter,
    passOn: own.passOn,
    // Rates count in the leader, so the leader answers requests with a rate.
    rates: {
      limit: (group, handler) => (exchange) => {
        if (config[`limits.rate.${group}`] !== null) throw new NeedsLeader();
        return handler(exchange);
      },
    },
    requests: parts.requests,
    routes: { ...Object.fromEntries(paths.map((path) => [path, reads[path] ?? {}])), ...own.routes },
    service: {
      addressOf: connections.addressOf,
      bodies: new Bodies(config["limits.bodies"]),
      bodyLimit: config["limits.body"],
      callers: auth.callers,
      cors,
      inFlight: inFlightOf(config, limits),
      listenUrl: connections.listenUrl,
      positions: own.positions,
    },
  });
}
