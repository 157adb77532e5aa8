/** Descriptions of the routes of import and export. In summaries, `:collection` stands for the name of the collection. */
import { type DescribedRoutes, enumOf, json, parameter, ref, string } from "../../openapi/index.ts";

const keys = "the id (also for an empty value), or a unique field.";
const content = { "application/x-ndjson": string, "text/csv": string };

export const transferDescribed: DescribedRoutes = {
  tag: "Records",
  routes: {
    "/api/:collection/import": {
      POST: {
        summary: "Import records into :collection",
        access: "admin",
        operation: "create",
        query: {
          update: parameter(`The rows change the records that a field names: ${keys}`),
          upsert: parameter(`As update, and the rows that find no record create a record: ${keys}`),
          dryRun: parameter("Whether the import changes nothing, and reports as without.", enumOf(["true", "false"])),
          map: parameter("The field of a column, column=field, and column= to leave a column out; may be repeated."),
          null: parameter("Cells of CSV with this text are null; may be repeated."),
          encoding: parameter(
            "The encoding of the file, for example windows-1252. By default UTF-8, or UTF-16 by the first bytes.",
          ),
          decimal: parameter("How cells of CSV write numbers: 1.234,5 or 1,234.5.", enumOf(["comma", "point"])),
          dates: parameter("The order of dates with the year at the end in cells of CSV.", enumOf(["dmy", "mdy"])),
        },
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
