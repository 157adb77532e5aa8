/** `/api/admin/backups`: making, listing, verifying, downloading and removing backups; the extent of the continuous backup. */
import * as wire from "@socle/protocol/wire";
import { AppError, quote } from "../../../../base/kernel/index.ts";
import type { Admin } from "../../../../operate/admin/index.ts";
import { answerFile } from "../../file-response.ts";
import { admins as access, answer, bytes, noContent, optionalBody, type Routes, route } from "../../route.ts";
import { listRoute } from "./paging.ts";

const nothing: wire.Shape<object> = {
  schema: wire.only({}).schema,
  read(value) {
    const [key] = Object.keys(Object(value));
    if (key !== undefined)
      throw new AppError("bad_request", `${quote(key)} cannot be set here; the request needs no body.`);
    return {};
  },
};

export function backupRoutes(api: { admin: Admin }): Routes {
  return {
    "/api/admin/backups": {
      GET: listRoute({
        summary: "The backups",
        item: wire.backupEntry,
        keys: true,
        all: () => api.admin.backups.list(),
      }),
      POST: route({
        summary: "Begin a backup",
        access,
        keys: true,
        body: optionalBody(nothing),
        answers: { 202: answer(wire.backupEntry, "The backup has begun.") },
        errors: [409],
        handle: (_, admin, _body) => api.admin.backups.begin(admin),
      }),
    },
    "/api/admin/backups/continuous": {
      GET: route({
        summary: "The extent of the continuous backup",
        access,
        answers: { 200: wire.continuousExtent },
        errors: [404, 503],
        handle: () => api.admin.backups.extent(),
      }),
    },
    "/api/admin/backups/:name/verify": {
      POST: route({
        summary: "Begin to verify a backup",
        access,
        body: optionalBody(nothing),
        answers: { 202: answer(wire.backupEntry, "The verification has begun.") },
        errors: [404, 409, 503],
        handle: (exchange, _admin, _body) => api.admin.backups.verify(exchange.param("name")),
      }),
    },
    "/api/admin/backups/:name": {
      GET: route({
        summary: "Download a backup",
        access,
        answers: {
          200: bytes("The backup.", ["ETag", "Content-Disposition"]),
          206: bytes("A part of the backup.", ["Content-Range"]),
          304: noContent("The client has the backup."),
        },
        errors: [412, 416],
        async handle(exchange) {
          const { backups } = api.admin;
          const name = exchange.param("name");
          const { size, modifiedAt } = await backups.find(name);
          return answerFile(exchange, {
            size,
            etag: `"${name}-${size}"`,
            modifiedAt,
            headers: {
              "Content-Type": "application/octet-stream",
              "Content-Disposition": `attachment; filename="${name}"`,
              "Cache-Control": "private, no-store",
            },
            read: (range) => backups.read(name, range),
          });
        },
      }),
      DELETE: route({
        summary: "Delete a backup",
        access,
        answers: { 204: null },
        errors: [409],
        handle: (exchange) => api.admin.backups.remove(exchange.param("name")),
      }),
    },
  };
}
