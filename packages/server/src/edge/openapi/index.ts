/** The OpenAPI document: descriptions of routes, schemas of the wire and of collections, and the document that both make. */
export { describedFor, describedForAdmins } from "./collection-paths.ts";
export type {
  AnswerDescription,
  BodyDescription,
  DescribedRoute,
  Method,
  Parameter,
  RouteDescription,
} from "./description.ts";
export { type DocumentPartCache, type DocumentParts, type OpenApiDocument, openApiText } from "./document.ts";
