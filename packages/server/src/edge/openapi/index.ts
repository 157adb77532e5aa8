/** The OpenAPI document: descriptions of routes, schemas of the wire and of collections, and the document that both make. */
export { describedFor, describedForAdmins } from "./collection-paths.ts";
export type { DescribedCollection } from "./collection-schemas.ts";
export {
  bytes,
  type DescribedRoutes,
  json,
  jsonBody,
  noContent,
  optionalBody,
  parameter,
  textOf,
} from "./description.ts";
export { type DocumentParts, type OpenApiDocument, openApiDocument, type Readers } from "./document.ts";
export type { StatusCodes } from "./errors.ts";
export {
  about,
  arrayOf,
  boolean,
  constant,
  count,
  enumOf,
  integer,
  listOf,
  orNull,
  pageOf,
  ref,
  type Schema,
  string,
  time,
} from "./schema.ts";
export { email, password } from "./shapes/accounts.ts";
