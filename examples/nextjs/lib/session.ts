/** The client of a request, with the session of its cookie. */
import { createClient } from "@socle/client";
import { cookieSession } from "@socle/client/server";
import { cookies } from "next/headers";
import type { Project } from "./project";
import { serviceUrl } from "./service";

export async function requestClient() {
  return createClient<Project>({ baseUrl: serviceUrl, session: cookieSession(await cookies()) });
}
