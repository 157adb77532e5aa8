/** The table of all routes of the API, for the router and for the OpenAPI document. The router matches paths in the order of the table. */
import type { RateLimiter } from "./rate-limiter.ts";
import type { ApiTable } from "./route.ts";
import { adminTable } from "./routes/admin/index.ts";
import { authRoutes } from "./routes/auth.ts";
import { accountRoutes } from "./routes/auth-account.ts";
import { factorRoutes } from "./routes/auth-factors.ts";
import { keyRoutes } from "./routes/auth-keys.ts";
import { proofRoutes } from "./routes/auth-proofs.ts";
import { providerRoutes } from "./routes/auth-providers.ts";
import { batchRoutes } from "./routes/batch.ts";
import { aliveRoutes, metricsRoutes, readinessRoutes } from "./routes/health.ts";
import { historyRoutes } from "./routes/history.ts";
import { openApiRoutes } from "./routes/openapi.ts";
import { queryRoutes } from "./routes/queries.ts";
import { realtimeRoutes } from "./routes/realtime.ts";
import { recordRoutes } from "./routes/records.ts";
import { storageRoutes } from "./routes/storage.ts";
import { transferRoutes } from "./routes/transfer.ts";

type PartsOf<F> = F extends (api: infer P) => unknown ? P : never;

/** The parts of the service that the routes take. A route asks for a part when a request comes, so that a document needs no service. */
type TableParts = PartsOf<typeof authRoutes> &
  PartsOf<typeof accountRoutes> &
  PartsOf<typeof providerRoutes> &
  PartsOf<typeof storageRoutes> &
  PartsOf<typeof queryRoutes> &
  PartsOf<typeof realtimeRoutes> &
  PartsOf<typeof adminTable> &
  PartsOf<typeof aliveRoutes> &
  PartsOf<typeof readinessRoutes> &
  PartsOf<typeof metricsRoutes> &
  PartsOf<typeof openApiRoutes> &
  PartsOf<typeof batchRoutes> &
  PartsOf<typeof transferRoutes> &
  PartsOf<typeof historyRoutes> &
  PartsOf<typeof recordRoutes> & { readonly rates: RateLimiter };

export function apiTable(api: TableParts): ApiTable {
  return [
    ["Sign-in", authRoutes(api)],
    ["Account", accountRoutes(api)],
    ["Proofs of an address", proofRoutes(api)],
    ["Second factor", factorRoutes(api)],
    ["Providers", providerRoutes(api)],
    ["API keys", keyRoutes(api)],
    ["Files", storageRoutes(api)],
    ["Server queries", queryRoutes(api)],
    ["Realtime", realtimeRoutes(api)],
    ...adminTable(api),
    ["Service", { ...aliveRoutes(api), ...readinessRoutes(api), ...metricsRoutes(api), ...openApiRoutes(api) }],
    ["Batches", batchRoutes(api)],
    ["Records", { ...transferRoutes(api), ...historyRoutes(api), ...recordRoutes(api) }],
  ];
}

/** The table for the document of a project that does not run. */
export function tableWithoutService(): ApiTable {
  const get = (_: object, name: string | symbol): never => {
    throw new Error(`A route asks for the part ${String(name)} before a request has come`);
  };
  return apiTable(new Proxy(Object.create(null), { get }));
}
