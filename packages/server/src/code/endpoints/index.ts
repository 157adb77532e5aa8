/** Endpoints: the files of `endpoints/`, paths, and calls of handlers. */
export { CallFailures } from "./call-failures.ts";
export {
  admitAccess,
  ENDPOINT_METHODS,
  type Endpoint,
  type EndpointAccess,
  type EndpointMethod,
  endpointOf,
  parseAccess,
  routeOf,
} from "./endpoint-file.ts";
export { checkEndpoint, Endpoints, type FoundEndpoint } from "./endpoints.ts";
