/** Descriptions of the routes of import and export. In summaries, `:collection` stands for the name of the collection. */
import { type DescribedRoutes, enumOf, json, parameter, ref, string } from "../../openapi/index.ts";

const content = { "application/x-ndjson": string, "text/csv": string };

export const transferDescribed: DescribedRoutes = {
  tag: "Records",
  routes: {
    "/api/:collection/import": {
      POST: {
        summary: "Import records into :collection",
        access: "admin",
        operation: "create",
        body: { content },
        answers: { 200: json(ref("ImportReport")) },
      },
    },
    "/api/:collection/export": {
      GET: {
        summary: "Export the records of :collection",
        access: "admin",
        operation: "read",
        query: { format: parameter("ndjson by default.", enumOf(["ndjson", "csv"])) },
        answers: { 200: { description: "The records.", content, headers: ["Content-Disposition"] } },
      },
    },
  },
};
