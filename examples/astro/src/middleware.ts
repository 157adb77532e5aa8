/** Middleware: each request has a client with the session of its cookie. */

import { defineMiddleware } from "astro:middleware";
import { createClient } from "@socle/client";
import { cookieSession } from "@socle/client/server";
import type { Project } from "./lib/project";
import { serviceUrl } from "./lib/service";

export const onRequest = defineMiddleware(({ cookies, locals, url }, next) => {
  const session = cookieSession(cookies, { url });
  locals.socle = createClient<Project>({ baseUrl: serviceUrl, session });
  return next();
});
