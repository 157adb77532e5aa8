/** The document: OpenAPI 3.1 of a service, made from the descriptions of the routes, the definitions in force and the endpoints. */
import { USERS } from "@socle/protocol";
import type { Endpoint } from "../../code/endpoints/index.ts";
import { collectionMark, collectionPaths } from "./collection-paths.ts";
import { collectionSchemas, type DescribedCollection } from "./collection-schemas.ts";
import type { DescribedRoutes } from "./description.ts";
import { endpointPaths } from "./endpoint-paths.ts";
import { errorAnswers, errorSchemas, type StatusCodes } from "./errors.ts";
import { fixedPaths, type Paths } from "./operations.ts";
import type { Schema } from "./schema.ts";
import { accountSchemas } from "./shapes/accounts.ts";
import { adminSchemas } from "./shapes/admin.ts";
import { generalSchemas } from "./shapes/general.ts";
import { scriptSchemas } from "./shapes/scripts.ts";

/** The readers of a document: a document has nothing beyond what its readers may know. */
type DocumentReaders = "anybody" | "users" | "admins";

export interface DocumentParts {
  readonly version: string;
  /** The address of the service; without an address, paths count from the address of the document. */
  readonly url?: string | undefined;
  readonly routes: readonly DescribedRoutes[];
  readonly codes: StatusCodes;
  readonly collections: readonly Omit<DescribedCollection, "knows">[];
  readonly endpoints: readonly Endpoint[];
  readonly readers: DocumentReaders;
}

/** An OpenAPI document: JSON. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Paths;
  readonly components: { readonly schemas: { readonly [name: string]: Schema }; readonly [kind: string]: object };
  readonly [member: string]: unknown;
}

const introduction =
  "Bodies are JSON. Every error has the same body; each status has a schema with its codes. " +
  "Sign in with POST /api/auth/login, and send the access token, or an API key, as Authorization: Bearer TOKEN. " +
  "The schemas of lists and records are of requests without fields, group and aggregate: with these parameters, the answer has the parts that were asked for.";

function isOfRecords(routes: DescribedRoutes): boolean {
  return Object.keys(routes.routes).every((path) => path.startsWith(`/api/${collectionMark}`));
}

function isShownTo(readers: DocumentReaders): (access: Endpoint["access"]) => boolean {
  return (access) => readers === "admins" || access === "public" || (access === "authenticated" && readers === "users");
}

/** The names of the schemas that a value refers to, also through other schemas. */
function usedSchemas(value: unknown, all: { readonly [name: string]: Schema }, found = new Set<string>()): Set<string> {
  for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    usedSchemas(all[name], all, found);
  }
  return found;
}

export function openApiDocument(parts: DocumentParts): OpenApiDocument {
  const { version, url = "/", routes, codes, endpoints, readers } = parts;
  const names = new Set([USERS, ...parts.collections.map(({ definition }) => definition.name)]);
  const collections = parts.collections.map((each) => ({ ...each, knows: (name: string) => names.has(name) }));
  const paths: Paths = {};
  for (const group of routes)
    for (const more of isOfRecords(group)
      ? collections.map((collection) => collectionPaths(group, collection))
      : [fixedPaths(group, readers === "admins")])
      for (const [path, methods] of Object.entries(more)) paths[path] = { ...paths[path], ...methods };
  Object.assign(paths, endpointPaths(endpoints, isShownTo(readers)));
  const responses = errorAnswers(codes);
  const ofCollections: { [name: string]: Schema }[] = collections.map(collectionSchemas);
  const schemas: { [name: string]: Schema } = {
    ...generalSchemas,
    ...accountSchemas,
    ...adminSchemas,
    ...scriptSchemas,
    ...errorSchemas(codes),
    ...Object.assign({}, ...ofCollections),
  };
  const used = usedSchemas([paths, responses], schemas);
  return {
    openapi: "3.1.0",
    info: { title: "Socle", version, description: introduction },
    servers: [{ url }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An access token, or an API key (sk_…)." },
      },
      schemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name))),
      responses,
    },
  };
}
