/** Endpoints: the files of `endpoints/`, paths, and calls of handlers. */
export { ENDPOINT_METHODS, type Endpoint, type EndpointMethod, endpointOf, routeOf } from "./endpoint-file.ts";
export { checkEndpoint, Endpoints, type FoundEndpoint } from "./endpoints.ts";
