/** Descriptions of the admin routes of backups. */
import { bytes, type DescribedRoutes, json, noContent, optionalBody, ref } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

export const backupsDescribed: DescribedRoutes = {
  tag: "Admin: backups",
  routes: {
    "/api/admin/backups": {
      GET: paging("The backups", "BackupEntry"),
      POST: {
        summary: "Begin a backup",
        access: "admin",
        body: optionalBody({ type: "object", additionalProperties: false }),
        answers: { 202: json(ref("BackupEntry"), "The backup has begun.") },
        errors: [409],
      },
    },
    "/api/admin/backups/:name": {
      GET: {
        summary: "Download a backup",
        access: "admin",
        answers: {
          200: bytes("The backup.", ["ETag", "Content-Disposition"]),
          206: bytes("A part of the backup.", ["Content-Range"]),
          304: noContent("The client has the backup."),
        },
        errors: [412, 416],
      },
      DELETE: { summary: "Delete a backup", access: "admin", answers: { 204: noContent() }, errors: [409] },
    },
  },
};
