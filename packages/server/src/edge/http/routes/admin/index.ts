/** The routes `/api/admin/…` (spec, "Admin endpoints"), a file for each noun. */
import type { Admin } from "../../../../operate/admin/index.ts";
import type { LiveStreams } from "../../live-streams.ts";
import type { Route } from "../../router.ts";
import { backupRoutes } from "./backups.ts";
import { collectionRoutes } from "./collections.ts";
import { eventRoutes } from "./events.ts";
import { forAdmins } from "./for-admins.ts";
import { logRoutes } from "./logs.ts";
import { scriptRoutes } from "./scripts.ts";
import { fileRoutes } from "./storage.ts";
import { userRoutes } from "./users.ts";

/** Every route for admins. */
export function adminRoutes(options: { admin: Admin; liveStreams: LiveStreams; bodyLimit: number }): Route[] {
  const { admin, liveStreams, bodyLimit } = options;
  return forAdmins([
    {
      path: "/api/admin/overview",
      methods: { GET: async (exchange) => exchange.json(200, await admin.overviews.now()) },
    },
    { path: "/api/admin/config", methods: { GET: (exchange) => exchange.json(200, admin.config()) } },
    ...collectionRoutes(admin, bodyLimit),
    ...userRoutes(admin, bodyLimit),
    ...fileRoutes(admin, bodyLimit),
    ...backupRoutes(admin, bodyLimit),
    ...scriptRoutes(admin, bodyLimit),
    ...logRoutes(admin, liveStreams),
    ...eventRoutes(admin, liveStreams),
  ]);
}
