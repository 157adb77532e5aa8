/** The routes `/api/admin/…` (spec, "Admin endpoints"), a file for each kind of thing: backups, collections, users. */
import type { Admin } from "../../../../operate/admin/index.ts";
import type { LiveStreams } from "../../live-streams.ts";
import type { Routes } from "../../router.ts";
import { backupRoutes } from "./backups.ts";
import { collectionRoutes } from "./collections.ts";
import { eventRoutes } from "./events.ts";
import { answerPageOf, forAdmins } from "./for-admins.ts";
import { adminKeyRoutes } from "./keys.ts";
import { logRoutes } from "./logs.ts";
import { mailRoutes } from "./mails.ts";
import { scriptRoutes } from "./scripts.ts";
import { fileRoutes } from "./storage.ts";
import { userRoutes } from "./users.ts";

export function adminRoutes({ admin, liveStreams }: { admin: Admin; liveStreams: LiveStreams }): Routes {
  return forAdmins({
    "/api/admin/overview": { GET: async (exchange) => exchange.json(200, await admin.overviews.now()) },
    "/api/admin/config": { GET: (exchange) => exchange.json(200, admin.config()) },
    "/api/admin/providers": { GET: (exchange) => answerPageOf(exchange, admin.providers.setups()) },
    ...collectionRoutes(admin),
    ...userRoutes(admin),
    ...adminKeyRoutes(admin),
    ...fileRoutes(admin),
    ...backupRoutes(admin),
    ...mailRoutes(admin),
    ...scriptRoutes(admin),
    ...logRoutes(admin, liveStreams),
    ...eventRoutes(admin, liveStreams),
  });
}
