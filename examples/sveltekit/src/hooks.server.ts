/** Hooks of the server: each request has a client with the session of its cookie. */
import { createClient } from "@socle/client";
import { cookieSession } from "@socle/client/server";
import type { Handle } from "@sveltejs/kit/hooks";
import type { Project } from "./lib/project";
import { serviceUrl } from "./lib/service.server";

export const handle: Handle = ({ event, resolve }) => {
  const session = cookieSession(event.cookies, { url: event.url });
  event.locals.socle = createClient<Project>({ baseUrl: serviceUrl, session });
  return resolve(event);
};
