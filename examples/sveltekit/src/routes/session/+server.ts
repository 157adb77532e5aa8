/** `/session`: the access token for the page. The refresh token stays in the cookie. */
import { sessionHandler } from "@socle/client/server";
import type { RequestHandler } from "./$types";

export const GET: RequestHandler = ({ locals, request }) => sessionHandler(locals.socle, request);
export const DELETE = GET;
