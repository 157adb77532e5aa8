/** `/session`: the access token for the page. The refresh token stays in the cookie. */
import { sessionHandler } from "@socle/client/server";
import { socleContext } from "../lib/session.server";
import type { Route } from "./+types/session";

export const loader = ({ context, request }: Route.LoaderArgs) => sessionHandler(context.get(socleContext), request);
export const action = ({ context, request }: Route.ActionArgs) => sessionHandler(context.get(socleContext), request);
