/** `GET /api/openapi.json`: the OpenAPI document of the service, for admins, or with `openapi.public` for everybody. */
import * as wire from "@socle/protocol/wire";
import type { Config } from "../../../base/config/index.ts";
import type { OpenApiDocuments } from "../documents.ts";
import { answer, noContent, ownRoute, type Routes } from "../route.ts";

export function openApiRoutes(api: { config: Config; documents: OpenApiDocuments }): Routes {
  return {
    "/api/openapi.json": {
      GET: ownRoute({
        summary: "This document",
        description: "For admins; with openapi.public for everybody, as far as the caller may know the service.",
        access: "anybody",
        keys: true,
        answers: {
          200: answer(wire.freeObject, "OpenAPI 3.1.", ["ETag"]),
          304: noContent("The client has the document."),
        },
        errors: [401, 403],
        async handle(exchange) {
          const principal = api.config["openapi.public"] ? await exchange.principal() : await exchange.admin();
          return exchange.tagged(principal, await api.documents.for(principal), { Vary: "Authorization" });
        },
      }),
    },
  };
}
