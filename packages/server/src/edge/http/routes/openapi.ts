/** `GET /api/openapi.json`: the OpenAPI document of the service, for admins, or with `openapi.public` for everybody. */
import type { Config } from "../../../base/config/index.ts";
import type { Endpoints } from "../../../code/endpoints/index.ts";
import type { Collections } from "../../../data/collections/index.ts";
import type { Routes } from "../router.ts";
import { OpenApiDocuments } from "./documents.ts";

export function openApiRoutes(options: {
  collections: Collections;
  endpoints: Endpoints;
  config: Config;
  version: string;
}): Routes {
  const documents = new OpenApiDocuments(options);
  const isPublic = options.config["openapi.public"];
  return {
    "/api/openapi.json": {
      async GET(exchange) {
        const principal = isPublic ? await exchange.principal() : await exchange.admin();
        return exchange.tagged(principal, await documents.for(principal), { Vary: "Authorization" });
      },
    },
  };
}
