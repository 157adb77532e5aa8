/** Session of a request: each request has a client with the session of its cookie. */
import { createClient, type Socle } from "@socle/client";
import { cookieSession, requestCookies } from "@socle/client/server";
import { createContext, type MiddlewareFunction } from "react-router";
import type { Project } from "./project";

/** Addresses of the service: for this server, and for the pages. */
const serviceUrl = process.env["SOCLE_URL"] ?? "http://localhost:8080";
export const publicUrl = process.env["SOCLE_PUBLIC_URL"] ?? serviceUrl;

/** The client of the request. */
export const socleContext = createContext<Socle<Project>>();

export const sessionMiddleware: MiddlewareFunction<Response> = async ({ request, context }, next) => {
  const headers = new Headers();
  const session = cookieSession(requestCookies(request, headers), { url: request.url });
  context.set(socleContext, createClient<Project>({ baseUrl: serviceUrl, session }));
  const response = await next();
  for (const cookie of headers.getSetCookie()) response.headers.append("Set-Cookie", cookie);
  return response;
};
