/** Project document: the OpenAPI document of a project that does not run. */
import type { CollectionDefinition } from "@socle/protocol";
import type { Endpoint } from "../../code/endpoints/index.ts";
import type { OpenApiDocument } from "../openapi/index.ts";
import { tableWithoutService } from "./api-table.ts";
import { makeDocument, newCache } from "./documents.ts";

/** The document for admins of a project that does not run. */
export async function projectDocument(project: {
  definitions: readonly CollectionDefinition[];
  endpoints: readonly Endpoint[];
  version: string;
  url: string | undefined;
}): Promise<OpenApiDocument> {
  const { describedForAdmins } = await import("../openapi/index.ts");
  const collections = project.definitions.map(describedForAdmins);
  const parts = { ...project, collections, readers: "admins" } as const;
  return JSON.parse(await makeDocument(tableWithoutService(), parts, newCache())) as OpenApiDocument;
}
