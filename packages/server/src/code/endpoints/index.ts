/** Endpoints: the files of `endpoints/`, paths, and calls of handlers. */
export type { EndpointMethod, FoundEndpoint } from "./endpoint-file.ts";
export { checkEndpoint, Endpoints } from "./endpoints.ts";
