/** `/api/admin/storage`: the metadata of stored files, the readers, and the records that use a file. */
import { VISIBILITIES } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import { admins as access, parameter, type Routes, route } from "../../route.ts";
import { pageRoute, waiterOf } from "./paging.ts";

export function fileRoutes(api: { admin: Admin }): Routes {
  return {
    "/api/admin/storage": {
      GET: pageRoute({
        summary: "The stored files",
        item: wire.storedFile,
        keys: true,
        query: {
          search: parameter("A part of the name."),
          visibility: parameter("A visibility.", wire.enumOf(VISIBILITIES)),
          userId: parameter("The uploader."),
        },
        find(page, exchange, admin) {
          const filter = {
            search: exchange.query("search"),
            visibility: exchange.query("visibility"),
            userId: exchange.query("userId"),
          };
          return api.admin.files.search(filter, { ...page, waiter: waiterOf(exchange, admin) });
        },
      }),
    },
    "/api/admin/storage/:id": {
      GET: route({
        summary: "The metadata of a file",
        access,
        keys: true,
        answers: { 200: wire.storedFile },
        handle: (exchange) => api.admin.files.get(exchange.param("id")),
      }),
      PATCH: route({
        summary: "Change the visibility of a file",
        access,
        keys: true,
        find: (exchange) => api.admin.files.get(exchange.param("id")),
        body: wire.only({ visibility: wire.enumOf(VISIBILITIES) }),
        answers: { 200: wire.storedFile },
        handle: (exchange, admin, body) => api.admin.files.setVisibility(exchange.param("id"), body.visibility, admin),
      }),
    },
    "/api/admin/storage/:id/records": {
      GET: pageRoute({
        summary: "The records that use a file",
        item: wire.fileUse,
        keys: true,
        find: (page, exchange, admin) =>
          api.admin.files.uses(exchange.param("id"), { ...page, waiter: waiterOf(exchange, admin) }),
      }),
    },
  };
}
