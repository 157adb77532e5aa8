/** Endpoints: the files of `endpoints/`, their paths, and the calls of their handlers. */
export type { EndpointMethod, FoundEndpoint } from "./endpoint-file.ts";
export { checkEndpoint, Endpoints } from "./endpoints.ts";
