/**
 * Proxy of the pages: renews the session before a page is rendered, because the render cannot set cookies. Actions and handlers renew by
 * themselves.
 */
import { createClient } from "@socle/client";
import { type CookieAttributes, cookieSession } from "@socle/client/server";
import { type NextRequest, NextResponse } from "next/server";
import { serviceUrl } from "./lib/service";

export async function proxy(request: NextRequest) {
  if (request.method !== "GET") return NextResponse.next();
  const { cookies, nextUrl: url } = request;
  const changed: [name: string, value: string, attributes: CookieAttributes][] = [];
  const session = cookieSession(
    {
      get: (name) => cookies.get(name),
      set(name, value, attributes) {
        cookies.set(name, value);
        changed.push([name, value, attributes]);
      },
    },
    { url: url.href },
  );
  await createClient({ baseUrl: serviceUrl, session }).ready();
  // The render gets the new cookie, and so does the browser.
  const response = NextResponse.next({ request: { headers: request.headers } });
  for (const cookie of changed) response.cookies.set(...cookie);
  return response;
}

export const config = { matcher: "/" };
