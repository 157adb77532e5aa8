/** Descriptions of the routes of stored files. */
import { VISIBILITIES } from "@socle/protocol";
import { bytes, type DescribedRoutes, enumOf, json, noContent, parameter, ref } from "../../openapi/index.ts";

const thumb = parameter("The size of a thumbnail of a picture, such as 200x200.");

export const storageDescribed: DescribedRoutes = {
  tag: "Files",
  routes: {
    "/api/storage/upload": {
      POST: {
        summary: "Upload a file",
        access: "user",
        body: {
          content: {
            "multipart/form-data": {
              type: "object",
              properties: {
                file: { type: "string", contentMediaType: "application/octet-stream" },
                visibility: enumOf(VISIBILITIES),
              },
              required: ["file"],
            },
          },
        },
        answers: { 201: json(ref("StoredFile")) },
      },
    },
    "/api/storage/:id": {
      GET: {
        summary: "Download a file",
        description: "Public files need no token. Range and conditional requests are possible.",
        access: "anybody",
        query: {
          thumb,
          expires: parameter("Of a link."),
          signature: parameter("Of a link."),
        },
        answers: {
          200: bytes("The content.", ["ETag", "Last-Modified", "Content-Disposition"]),
          206: bytes("A part of the content.", ["Content-Range"]),
          304: noContent("The client has the content."),
        },
        errors: [401, 403, 412, 416],
      },
      DELETE: { summary: "Delete a file", access: "user", answers: { 204: noContent() } },
    },
    "/api/storage/:id/link": {
      POST: {
        summary: "Make a link that needs no token",
        access: "anybody",
        query: { thumb },
        answers: { 200: json(ref("FileLink")) },
        errors: [401, 403],
      },
    },
  },
};
