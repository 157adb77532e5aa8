import type { Auth } from "../../auth/index.ts";
import type { Realtime } from "../../realtime/index.ts";
import type { Records } from "../../records/index.ts";
import type { Storage } from "../../storage/index.ts";
import type { Route } from "../router.ts";
import type { StaticFiles } from "../static-files.ts";
import { authRoutes } from "./auth.ts";
import { healthRoutes } from "./health.ts";
import { realtimeRoutes, type Upgrade } from "./realtime.ts";
import { recordRoutes } from "./records.ts";
import { storageRoutes } from "./storage.ts";

export interface RouteOptions {
  auth: Auth;
  records: Records;
  storage: Storage;
  realtime: Realtime;
  files: StaticFiles | null;
  version: string;
  /** Bytes. */
  bodyLimit: number;
  /** Where a request comes from. */
  addressOf: (request: Request) => string;
  upgrade: Upgrade;
}

/** Every route of the API. Names are matched before parameters: a collection is asked for last. */
export function allRoutes(options: RouteOptions): Route[] {
  return [
    ...healthRoutes(options),
    ...authRoutes(options),
    ...storageRoutes(options),
    ...realtimeRoutes(options),
    ...recordRoutes(options),
  ];
}
