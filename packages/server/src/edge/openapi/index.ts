/** The OpenAPI document: descriptions of routes, schemas of the wire and of collections, and the document that both make. */
export { describedFor, describedForAdmins } from "./collection-paths.ts";
export {
  bytes,
  type DescribedRoutes,
  json,
  jsonBody,
  noContent,
  optionalBody,
  type Parameter,
  parameter,
  textOf,
} from "./description.ts";
export { type DocumentPartCache, type DocumentParts, type OpenApiDocument, openApiText } from "./document.ts";
export {
  about,
  arrayOf,
  constant,
  count,
  enumOf,
  freeObject,
  integer,
  listOf,
  mapOf,
  orNull,
  pageOf,
  ref,
  type Schema,
  string,
} from "./schema.ts";
export { email, password } from "./shapes/accounts.ts";
