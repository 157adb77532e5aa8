/** Endpoints: the files of `endpoints/`, the paths they stand for, and the calls of their handlers. */
export { ENDPOINT_METHODS, type EndpointMethod } from "./endpoint-file.ts";
export type { EndpointMeter } from "./endpoint-meter.ts";
export type { FoundEndpoint } from "./endpoint-table.ts";
export { checkEndpoint, Endpoints } from "./endpoints.ts";
