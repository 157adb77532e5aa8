/** The router of the whole API. */
import type { Config } from "../../base/config/index.ts";
import { Admission } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger, RequestMeter } from "../../base/logging/index.ts";
import type { Endpoints } from "../../code/endpoints/index.ts";
import type { ServerQueries } from "../../code/server-queries/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Transfers } from "../../data/transfer/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Realtime } from "../../live/realtime/index.ts";
import type { Admin } from "../../operate/admin/index.ts";
import type { Histories } from "../../operate/history/index.ts";
import type { Account, Auth, Providers } from "../../people/auth/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { RequestLog } from "../../store/events/index.ts";
import { apiTable } from "./api-table.ts";
import type { AuthPages } from "./auth-page.ts";
import { Bodies } from "./bodies.ts";
import { BodyReadLimiter } from "./body-read-limiter.ts";
import type { Dashboard } from "./dashboard.ts";
import { OpenApiDocuments } from "./documents.ts";
import type { WritePositions } from "./exchange.ts";
import { Cors } from "./headers.ts";
import { Idempotency } from "./idempotency.ts";
import type { KeptAnswers } from "./idempotency-table.ts";
import { InFlight } from "./in-flight.ts";
import { Lists } from "./lists.ts";
import type { LiveStreams } from "./live-streams.ts";
import { RateLimiter, RequestLimiter } from "./rate-limiter.ts";
import { type RecordOperation, runOperation } from "./record-operations.ts";
import { merged, type Routes } from "./route.ts";
import { type KeepOpen, Router } from "./router.ts";
import { authPageRoutes } from "./routes/auth-pages.ts";
import { signInPageRoutes } from "./routes/auth-sign-in.ts";
import { clientRoutes } from "./routes/client.ts";
import { endpointRoutes } from "./routes/endpoints.ts";
import type { Upgrade } from "./routes/realtime.ts";
import type { StaticFiles } from "./static-files.ts";

/** The parts with which a process answers requests, in each role: the leader, a reader process and a replica of a cluster. */
export interface ServingParts {
  readonly config: Config;
  readonly version: string;
  readonly logger: Logger;
  readonly auth: Auth;
  readonly records: Records;
  readonly queries: Queries;
  readonly storage: Storage;
  readonly realtime: Realtime;
  readonly meter: RequestMeter;
  readonly requests: RequestLog;
  readonly limits: LimitMeter;
  /** Files served for paths without a route; null for no files. */
  readonly files: StaticFiles | null;
  /** The dashboard, served under `/_/`; null for no dashboard. */
  readonly dashboard: Dashboard | null;
}

/** The parts that the routes and the router of the whole API are built of, wherever requests come from. */
export interface ApiParts extends ServingParts {
  readonly isDevelopment?: boolean | undefined;
  readonly account: Account;
  readonly providers: Providers;
  readonly collections: Collections;
  readonly transfers: Transfers;
  readonly admin: Admin;
  readonly histories: Histories;
  readonly endpoints: Endpoints;
  readonly serverQueries: ServerQueries;
  readonly database: Database;
  /** The answers to requests with an `Idempotency-Key`. */
  readonly keptAnswers: KeptAnswers;
  /** The pages for accounts, served under `/_/auth/`; null for no pages. */
  readonly pages: AuthPages | null;
  /** The positions of writes, for the sockets of all processes. */
  readonly positions: WritePositions;
  /** The part of an instance of a cluster; absent outside of a cluster. */
  readonly instance?: InstancePart | undefined;
  /** Why the service is not ready; empty for a ready service. */
  readonly readiness: () => Promise<readonly string[]>;
  /** Faults that leave the service ready, as lines. */
  readonly notes: () => readonly string[];
}

/** The routes for the other instances of a cluster, and the wait of a request until this instance may answer. */
export interface InstancePart {
  readonly routes: Routes;
  readonly admit: (request: Request) => Promise<void> | null;
  /** Faults that leave this instance ready, as lines. */
  readonly notes: () => readonly string[];
  /**
   * Waits, for some seconds at most, until each event that a client of another instance may have heard by now is told here, too: the client may resume
   * from that event. Answers whether this is so.
   */
  readonly beforeSocket: () => Promise<boolean>;
  /** A write was answered, for the live queries at the other instances. */
  readonly wrote: (caller: string, seq: number) => void;
}

/** The side of the router on which connections are. */
export interface Connections {
  liveStreams: LiveStreams;
  upgrade: Upgrade;
  /** The address that a request comes from, as a key. */
  addressOf: (request: Request) => string;
  /** The address at which the service listens. */
  listenUrl: () => string;
  keepOpen: KeepOpen;
}

/** Uploads that are read at a time. */
const uploadsAtATime = 4;
/** Large batches that are read, run or wait for the flush: a batch is made ready while another batch runs. */
const batchesAtATime = 2;

/** The router of the whole API. */
export function openRouter(parts: ApiParts, connections: Connections): Router {
  const { addressOf, keepOpen, listenUrl, liveStreams, upgrade } = connections;
  const { auth, collections, config, database, instance, keptAnswers, limits, logger, version } = parts;
  const cors = new Cors(config["cors.origins"], logger);
  const rates = new RateLimiter(config);
  const requestLimits = config["limits.requests"];
  const limiter = requestLimits.length === 0 ? null : new RequestLimiter(requestLimits);
  const api = {
    ...parts,
    batches: batchAdmission(config["limits.batches"]),
    calls: callAdmission(config["limits.endpoints"]),
    cors,
    documents: new OpenApiDocuments({ collections, config, endpoints: parts.endpoints, table: () => table, version }),
    idempotency: new Idempotency({
      database,
      keptAnswers,
      maxBody: config["limits.body"],
      maxKeys: config["limits.idempotencyKeys"],
    }),
    keepOpen,
    lists: listsOf(parts),
    liveStreams,
    metrics: () => parts.admin.overviews.metrics(),
    notes: () => [...parts.notes(), ...readOnlyNotes(database)],
    rates,
    run: (operation: RecordOperation, callerOf: () => string) => runOperation(parts.records, operation, callerOf),
    upgrade,
    uploads: new BodyReadLimiter({ width: uploadsAtATime, maxWaiting: config["limits.uploads"] }),
  };
  const endpoints = endpointRoutes(api);
  const table = apiTable(api);
  return new Router({
    accessPercent: config["log.access"],
    admit: instance?.admit,
    dashboard: parts.dashboard,
    endpoints: endpoints.besideFiles,
    files: parts.files,
    isDevelopment: parts.isDevelopment,
    limit: limiter && ((exchange) => limiter.take(exchange)),
    limits,
    logger,
    meter: parts.meter,
    passOn: null,
    rates,
    requests: parts.requests,
    // The collection of a path is matched last.
    routes: {
      ...instance?.routes,
      ...authPageRoutes(api),
      ...signInPageRoutes(api),
      ...clientRoutes(),
      ...endpoints.routes,
      ...merged(table),
    },
    service: {
      addressOf,
      bodies: new Bodies(config["limits.bodies"]),
      bodyLimit: config["limits.body"],
      callers: auth.callers,
      cors,
      inFlight: inFlightOf(config, limits),
      listenUrl,
      positions: parts.positions,
    },
  });
}

export function inFlightOf(config: Config, limits: LimitMeter): InFlight {
  return new InFlight({
    connectionsPerAddress: config["limits.connectionsPerAddress"],
    answersLimit: config["limits.answers"],
    onLimit: (address) => limits.reached("answers", { address }),
  });
}

export function listsOf({ queries, config, auth }: { queries: Queries; config: Config; auth: Auth }): Lists {
  return new Lists({ queries, cacheSize: config["cache.size"], secret: () => auth.secretFor("tags of lists") });
}

/** Admits the calls of endpoints and server queries. */
function callAdmission(width: number): Admission {
  return new Admission({
    limit: "endpoints",
    message: "Too many requests to endpoints are under way; try again in a moment.",
    width,
    share: Math.ceil(width / 2),
    maxWaiting: width,
  });
}

function batchAdmission(maxWaiting: number): Admission {
  return new Admission({
    limit: "batches",
    message: "Too many large batches wait. Try again in a moment.",
    width: batchesAtATime,
    share: 1,
    maxWaiting,
    waitingShare: Math.ceil(maxWaiting / 2),
  });
}

/** A read-only service answers reads, so the service is ready. */
function readOnlyNotes({ readOnly: { state } }: Database): string[] {
  return state === null ? [] : [`the service is read-only: ${state.text}`];
}
