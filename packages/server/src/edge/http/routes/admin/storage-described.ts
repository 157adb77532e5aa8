/** Descriptions of the admin routes of stored files. */
import { VISIBILITIES } from "@socle/protocol";
import { type DescribedRoutes, enumOf, json, jsonBody, parameter, ref } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

export const filesDescribed: DescribedRoutes = {
  tag: "Admin: files",
  routes: {
    "/api/admin/storage": {
      GET: paging("The stored files", "StoredFile", {
        search: "A part of the name.",
        visibility: parameter("A visibility.", enumOf(VISIBILITIES)),
        userId: "The uploader.",
      }),
    },
    "/api/admin/storage/:id": {
      GET: { summary: "The metadata of a file", access: "admin", answers: { 200: json(ref("StoredFile")) } },
      PATCH: {
        summary: "Change the visibility of a file",
        access: "admin",
        body: jsonBody({
          type: "object",
          properties: { visibility: enumOf(VISIBILITIES) },
          required: ["visibility"],
          additionalProperties: false,
        }),
        answers: { 200: json(ref("StoredFile")) },
      },
    },
    "/api/admin/storage/:id/records": { GET: paging("The records that use a file", "FileUse") },
  },
};
