/** Gives each request a client of its own, with the session that the cookie of the browser keeps. */
import { createClient } from "@socle/client";
import { cookieSession } from "@socle/client/server";
import type { Handle } from "@sveltejs/kit";
import { env } from "$env/dynamic/public";

export const handle: Handle = ({ event, resolve }) => {
  const session = cookieSession(event.cookies, { url: event.url });
  event.locals.socle = createClient({ baseUrl: env.PUBLIC_SOCLE_URL ?? "http://localhost:8090", session });
  return resolve(event);
};
