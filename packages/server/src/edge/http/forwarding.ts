/** Forwarding of requests: the place of a request in the table of routes, for the process that can answer the request. */

/** A route of the table by position, with the named parts of the path; `noRoute` for a path without a route. */
export interface RoutePlace {
  readonly index: number;
  readonly params: Record<string, string>;
}

/** The index of a path without a route. */
export const noRoute = -1;

/** Forwards a request to the process that can answer. */
export type ForwardRequest = (request: Request, place: RoutePlace) => Promise<Response>;

/** Thrown by a handler of a reader process that finds that only the leader can answer. The body of the request is unread. */
export class NeedsLeader extends Error {
  override readonly name = "NeedsLeader";
}
