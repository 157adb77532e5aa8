/** The router of the whole API, for the server and for tests without a socket. */
import type { Admin } from "../admin/index.ts";
import type { Auth } from "../auth/index.ts";
import type { Endpoints } from "../endpoints/index.ts";
import type { Secret } from "../kernel/index.ts";
import type { LimitMeter, Logger, RequestMeter } from "../logging/index.ts";
import type { Queries } from "../queries/index.ts";
import type { Realtime } from "../realtime/index.ts";
import type { Records } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";
import type { Transfers } from "../transfer/index.ts";
import type { AccessLog } from "./access-log.ts";
import { Answers } from "./answers.ts";
import { Bodies } from "./bodies.ts";
import type { Callers } from "./callers.ts";
import { Cors } from "./cors.ts";
import type { Dashboard } from "./dashboard.ts";
import type { LiveStreams } from "./live-streams.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { Router } from "./router.ts";
import { allRoutes } from "./routes/index.ts";
import type { Upgrade } from "./routes/realtime.ts";
import type { StaticFiles } from "./static-files.ts";

/** The parts that the routes and their router are built of, wherever requests come from. */
export interface ApiParts {
  auth: Auth;
  records: Records;
  queries: Queries;
  transfers: Transfers;
  storage: Storage;
  realtime: Realtime;
  admin: Admin;
  meter: RequestMeter;
  access: AccessLog;
  limits: LimitMeter;
  metricsToken: Secret | undefined;
  /** Files served where no route matches; null for none. */
  files: StaticFiles | null;
  /** The dashboard, served under `/_/`; null for none. */
  dashboard: Dashboard | null;
  /** Why the service is not ready; empty when it is. */
  readiness: () => Promise<readonly string[]>;
  logger: Logger;
  version: string;
  corsOrigins: readonly string[];
  /** Bytes. */
  bodyLimit: number;
  /** Bytes of the body of a batch. */
  batchBodyLimit: number;
  /** Large batches that may wait for their turn. */
  maxBatches: number;
  endpoints: Endpoints;
  /** Bytes of the body of a request to an endpoint. */
  endpointBodyLimit: number;
  /** Requests to endpoints under way. */
  maxEndpointRequests: number;
  rates: RateLimiter;
  /** Requests and sockets of one address at a time. */
  connectionsPerAddress: number;
  /** Bytes of JSON bodies that are being read. */
  bodiesLimit: number;
  /** Bytes of answers in flight. */
  answersLimit: number;
  /** Bytes of answers to lists that are kept. */
  listCacheSize: number;
  /** Uploads that may wait to be read. */
  maxUploads: number;
}

/** The side of the router on which connections are. */
export interface Connections {
  liveStreams: LiveStreams;
  callers: Callers;
  upgrade: Upgrade;
  /** The address that a request comes from, as a key. */
  addressOf: (request: Request) => string;
}

/** The router of the whole API. */
export function openRouter(parts: ApiParts, { callers, addressOf, ...connections }: Connections): Router {
  const { auth, limits } = parts;
  const cors = new Cors(parts.corsOrigins);
  return new Router({
    ...parts,
    routes: allRoutes({ ...parts, ...connections, cors }),
    cors,
    authenticate: (token) => auth.authenticate(token),
    addressOf,
    answers: new Answers({
      limit: parts.answersLimit,
      onLimit: (address) => limits.reached("answers", { address }),
    }),
    bodies: new Bodies(parts.bodiesLimit),
    callers,
  });
}
