/** Endpoints: the files of `endpoints/`, their paths, and the calls of their handlers. */
export { ENDPOINT_METHODS, type EndpointMethod, type FoundEndpoint } from "./endpoint-file.ts";
export { checkEndpoint, Endpoints } from "./endpoints.ts";
