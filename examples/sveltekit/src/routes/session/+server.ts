/** Gives the page the access token of the session, for live queries. The refresh token stays in the cookie. */
import { sessionHandler } from "@socle/client/server";
import type { RequestHandler } from "./$types";

export const GET: RequestHandler = ({ locals, request }) => sessionHandler(locals.socle, request);
export const DELETE = GET;
