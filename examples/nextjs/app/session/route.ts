/** `/session`: the access token for the page. The refresh token stays in the cookie. */
import { sessionHandler } from "@socle/client/server";
import { requestClient } from "../../lib/session";

export async function GET(request: Request) {
  return sessionHandler(await requestClient(), request);
}
export const DELETE = GET;
