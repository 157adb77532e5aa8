/** Endpoints: the files of `endpoints/`, their paths, and the calls of their handlers. */
export { ENDPOINT_METHODS, type EndpointMethod } from "./endpoint-file.ts";
export { checkEndpoint, Endpoints } from "./endpoints.ts";
export type { FoundEndpoint } from "./route-table.ts";
