/** `POST /api/{collection}/import` and `GET /api/{collection}/export`: records in and out as streams, for admins. */
import { AppError } from "../../../base/kernel/index.ts";
import type { Records } from "../../../data/records/index.ts";
import { formatOf, type TransferFormat, type Transfers, transferTypes } from "../../../data/transfer/index.ts";
import type { Exchange } from "../exchange.ts";
import { disposition } from "../file-response.ts";
import { refuseEncoded } from "../headers.ts";
import type { KeepOpen, Routes } from "../router.ts";
import { collectionOf } from "./records.ts";

export function transferRoutes(options: { transfers: Transfers; records: Records; keepOpen: KeepOpen }): Routes {
  const { transfers, records, keepOpen } = options;

  return {
    "/api/:collection/import": {
      async POST(exchange) {
        const collection = collectionOf(records, exchange.param("collection"));
        const principal = await exchange.admin();
        const { request } = exchange;
        refuseEncoded(request.headers);
        const format = formatOf(request.headers.get("content-type") ?? "");
        if (format === null)
          throw new AppError(
            "bad_request",
            "The request needs the header Content-Type: application/x-ndjson, or text/csv.",
          );
        const importing = transfers.import(collection, {
          principal,
          format,
          options: new URLSearchParams(exchange.search),
          content: request.body ?? new Blob([]).stream(),
          signal: request.signal,
        });
        // Nothing is read of the file while hooks decide about a thousand rows.
        keepOpen(request, importing, Number.POSITIVE_INFINITY);
        const report = await exchange.untilStop(importing);
        return exchange.json(200, report);
      },
    },
    "/api/:collection/export": {
      async GET(exchange) {
        const { name } = collectionOf(records, exchange.param("collection"));
        await exchange.admin();
        const format = exportFormat(exchange);
        const pieces = await transfers.export(name, format, () => exchange.admin());
        return exchange.stream(200, pieces, {
          "Content-Type": transferTypes[format],
          "Content-Disposition": disposition("application/octet-stream", `${name}.${format}`),
          "Cache-Control": "private, no-store",
        });
      },
    },
  };
}

/** @throws AppError `bad_request` for an unknown format. */
function exportFormat(exchange: Exchange): TransferFormat {
  const asked = exchange.query("format");
  if (asked === "csv" || asked === "ndjson") return asked;
  if (asked !== null) throw new AppError("bad_request", '"format" must be ndjson or csv.');
  return formatOf(exchange.request.headers.get("accept") ?? "") ?? "ndjson";
}
