/** `POST /api/{collection}/import` and `GET /api/{collection}/export`: records in and out as streams, for admins. */
import * as wire from "@socle/protocol/wire";
import { AppError } from "../../../base/kernel/index.ts";
import type { Records } from "../../../data/records/index.ts";
import { formatOf, type TransferFormat, type Transfers, transferTypes } from "../../../data/transfer/index.ts";
import type { Exchange } from "../exchange.ts";
import { disposition } from "../file-response.ts";
import { refuseEncoded } from "../headers.ts";
import { answer, ownRoute, parameter, type Routes } from "../route.ts";
import type { KeepOpen } from "../router.ts";
import { collectionOf } from "./records.ts";

const keyFields = "the id (also for an empty value), or a unique field.";
const content = { "application/x-ndjson": wire.string.schema, "text/csv": wire.string.schema };

/** The access is for admins; a collection that is missing is told before. */
export function transferRoutes(api: { transfers: Transfers; records: Records; keepOpen: KeepOpen }): Routes {
  return {
    "/api/:collection/import": {
      POST: ownRoute({
        summary: "Import records into :collection",
        access: "admin",
        operation: "create",
        keys: true,
        query: {
          update: parameter(`The rows change the records that a field names: ${keyFields}`),
          upsert: parameter(`As update, and the rows that find no record create a record: ${keyFields}`),
          dryRun: parameter(
            "Whether the import changes nothing, and reports as without.",
            wire.enumOf(["true", "false"]),
          ),
          map: parameter("The field of a column, column=field, and column= to leave a column out; may be repeated."),
          null: parameter("Cells of CSV with this text are null; may be repeated."),
          encoding: parameter(
            "The encoding of the file, for example windows-1252. By default UTF-8, or UTF-16 by the first bytes.",
          ),
          decimal: parameter("How cells of CSV write numbers: 1.234,5 or 1,234.5.", wire.enumOf(["comma", "point"])),
          dates: parameter("The order of dates with the year at the end in cells of CSV.", wire.enumOf(["dmy", "mdy"])),
        },
        body: { content },
        answers: { 200: answer(wire.importReport) },
        handle: (exchange) => importRecords(api, exchange),
      }),
    },
    "/api/:collection/export": {
      GET: ownRoute({
        summary: "Export the records of :collection",
        access: "admin",
        operation: "read",
        keys: true,
        query: { format: parameter("ndjson by default.", wire.enumOf(["ndjson", "csv"])) },
        answers: { 200: { description: "The records.", content, headers: ["Content-Disposition"] } },
        async handle(exchange) {
          const { name } = collectionOf(api.records, exchange.param("collection"));
          await exchange.admin();
          const format = exportFormat(exchange);
          const pieces = await api.transfers.export(name, format, () => exchange.admin());
          const headers = {
            "Content-Type": transferTypes[format],
            "Content-Disposition": disposition("application/octet-stream", `${name}.${format}`),
            "Cache-Control": "private, no-store",
          };
          return exchange.stream(200, pieces, { headers });
        },
      }),
    },
  };
}

async function importRecords(
  { transfers, records, keepOpen }: { transfers: Transfers; records: Records; keepOpen: KeepOpen },
  exchange: Exchange,
): Promise<Response> {
  const collection = collectionOf(records, exchange.param("collection"));
  const principal = await exchange.admin();
  const { request } = exchange;
  refuseEncoded(request.headers);
  const format = formatOf(request.headers.get("content-type") ?? "");
  if (format === null)
    throw new AppError("bad_request", "The request needs the header Content-Type: application/x-ndjson, or text/csv.");
  const importing = transfers.import(collection, {
    principal,
    format,
    options: new URLSearchParams(exchange.search),
    content: request.body ?? new Blob([]).stream(),
    signal: request.signal,
  });
  // Nothing is read of the file while hooks decide about a thousand rows.
  keepOpen(request, importing, Number.POSITIVE_INFINITY);
  return exchange.json(200, await exchange.untilStop(importing));
}

/** @throws AppError `bad_request` for an unknown format. */
function exportFormat(exchange: Exchange): TransferFormat {
  const asked = exchange.query("format");
  if (asked === "csv" || asked === "ndjson") return asked;
  if (asked !== null) throw new AppError("bad_request", '"format" must be ndjson or csv.');
  return formatOf(exchange.request.headers.get("accept") ?? "") ?? "ndjson";
}
