/** The routes `/api/admin/…` (spec, "Admin endpoints"), a file for each kind of thing: backups, collections, users. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { LiveStreams } from "../../live-streams.ts";
import { type ApiTable, admins as access, merged, parameter, type Routes, route } from "../../route.ts";
import type { KeepOpen } from "../../router.ts";
import { backupRoutes } from "./backups.ts";
import { collectionRoutes } from "./collections.ts";
import { eventRoutes } from "./events.ts";
import { failureRoutes } from "./failures.ts";
import { adminKeyRoutes } from "./keys.ts";
import { logRoutes } from "./logs.ts";
import { mailRoutes } from "./mails.ts";
import { listRoute, pageIn, pageQuery } from "./paging.ts";
import { savedViewRoutes } from "./saved-views.ts";
import { scriptRoutes } from "./scripts.ts";
import { sqlRoutes } from "./sql.ts";
import { fileRoutes } from "./storage.ts";
import { undoRoutes } from "./undo.ts";
import { userRoutes } from "./users.ts";

interface Parts {
  readonly admin: Admin;
  readonly keepOpen: KeepOpen;
  readonly liveStreams: LiveStreams;
}

function overviewRoutes(api: Parts): Routes {
  return {
    "/api/admin/overview": {
      GET: route({
        summary: "The state of the service",
        access,
        keys: true,
        answers: { 200: wire.overview },
        handle: () => api.admin.overviews.now(),
      }),
    },
    "/api/admin/status": {
      GET: route({
        summary: "What is not well with the service, each with its remedy",
        access,
        keys: true,
        answers: { 200: wire.serviceStatus },
        handle: () => api.admin.status.now(),
      }),
    },
    "/api/admin/read-only": {
      GET: route({
        summary: "Whether the service refuses changes",
        access,
        answers: { 200: wire.readOnlyMode },
        handle: () => api.admin.readOnly.mode,
      }),
      PUT: route({
        summary: "Refuse changes, or take changes again",
        access,
        body: wire.readOnlySwitch,
        answers: { 200: wire.readOnlyMode },
        handle: (_exchange, admin, asked) => api.admin.readOnly.set(asked, admin),
      }),
    },
    "/api/admin/sockets": {
      GET: route({
        summary: "The open sockets",
        access,
        query: { user: parameter("The id of a user."), ...pageQuery },
        answers: { 200: wire.socketPage },
        async handle(exchange) {
          const page = pageIn(exchange);
          return { ...(await api.admin.sockets.list({ user: exchange.query("user"), ...page })), ...page };
        },
      }),
    },
    "/api/admin/config": {
      GET: route({
        summary: "The configuration in force",
        access,
        keys: true,
        answers: { 200: wire.effectiveConfig },
        handle: () => api.admin.settings.config(),
      }),
    },
    "/api/admin/config/:key": {
      PUT: route({
        summary: "Change a live setting, at once and for the next starts",
        access,
        body: wire.settingChange,
        answers: { 200: wire.configEntry },
        errors: [404, 409],
        handle: (exchange, admin, { value = null }) => api.admin.settings.set(exchange.param("key"), value, admin),
      }),
    },
    "/api/admin/records/:id": {
      GET: route({
        summary: "The collection of a record",
        access,
        answers: { 200: wire.object({ id: wire.string, collection: wire.string }) },
        errors: [404],
        handle: (exchange) => api.admin.place(exchange.param("id")),
      }),
    },
    "/api/admin/providers": {
      GET: listRoute({
        summary: "The providers of sign-ins, and the presets",
        item: wire.providerSetup,
        all: () => api.admin.providers.setups(),
      }),
    },
  };
}

export function adminTable(api: Parts): ApiTable {
  return [
    ["Admin: collections", { ...collectionRoutes(api), ...savedViewRoutes(api) }],
    ["Admin: users", userRoutes(api)],
    ["Admin: API keys", adminKeyRoutes(api)],
    ["Admin: files", fileRoutes(api)],
    ["Admin: backups", backupRoutes(api)],
    ["Admin: mails", mailRoutes(api)],
    ["Admin: code", scriptRoutes(api)],
    ["Admin: failures", failureRoutes(api)],
    [
      "Admin: operation",
      { ...overviewRoutes(api), ...logRoutes(api), ...eventRoutes(api), ...undoRoutes(api), ...sqlRoutes(api) },
    ],
  ];
}

export function adminRoutes(api: Parts): Routes {
  return merged(adminTable(api));
}
