/** Every route of the API, in the order in which paths are matched. */
import type { Admin } from "../../admin/index.ts";
import type { Auth } from "../../auth/index.ts";
import type { Endpoints } from "../../endpoints/index.ts";
import type { Secret } from "../../kernel/index.ts";
import type { Queries } from "../../queries/index.ts";
import type { Realtime } from "../../realtime/index.ts";
import type { Records } from "../../records/index.ts";
import type { Storage } from "../../storage/index.ts";
import type { Transfers } from "../../transfer/index.ts";
import type { Cors } from "../cors.ts";
import type { Dashboard } from "../dashboard.ts";
import type { LiveStreams } from "../live-streams.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Route } from "../router.ts";
import type { StaticFiles } from "../static-files.ts";
import { adminRoutes } from "./admin/index.ts";
import { authRoutes } from "./auth.ts";
import { batchRoutes } from "./batch.ts";
import { endpointRoutes } from "./endpoints.ts";
import { firstAdminRoutes } from "./first-admin.ts";
import { healthRoutes } from "./health.ts";
import { metricsRoutes } from "./metrics.ts";
import { realtimeRoutes, type Upgrade } from "./realtime.ts";
import { recordRoutes } from "./records.ts";
import { storageRoutes } from "./storage.ts";
import { transferRoutes } from "./transfer.ts";

export interface RouteOptions {
  auth: Auth;
  records: Records;
  queries: Queries;
  transfers: Transfers;
  storage: Storage;
  realtime: Realtime;
  admin: Admin;
  liveStreams: LiveStreams;
  /** With it, metrics are answered to others than admins. */
  metricsToken: Secret | undefined;
  files: StaticFiles | null;
  dashboard: Dashboard | null;
  readiness: () => Promise<readonly string[]>;
  version: string;
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
  /** Bytes of answers to lists that are kept. */
  listCacheSize: number;
  /** Uploads that may wait to be read. */
  maxUploads: number;
  cors: Cors;
  upgrade: Upgrade;
}

/** Every route of the API. Names are matched before parameters: a collection is asked for last. */
export function allRoutes(options: RouteOptions): Route[] {
  return [
    ...healthRoutes(options),
    ...metricsRoutes({ overviews: options.admin.overviews, token: options.metricsToken }),
    ...authRoutes(options),
    ...firstAdminRoutes({ ...options, firstAdmin: options.admin.firstAdmin }),
    ...adminRoutes(options),
    ...storageRoutes(options),
    ...realtimeRoutes(options),
    ...batchRoutes(options),
    ...transferRoutes(options),
    ...endpointRoutes(options),
    ...recordRoutes(options),
  ];
}
