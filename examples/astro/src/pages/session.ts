/** `/session`: the access token for the page. The refresh token stays in the cookie. */
import { sessionHandler } from "@socle/client/server";
import type { APIRoute } from "astro";

export const GET: APIRoute = ({ locals, request }) => sessionHandler(locals.socle, request);
export const DELETE = GET;
