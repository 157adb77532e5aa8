/** Descriptions of the routes of sign-ins at providers, and of the user's links. */
import {
  type DescribedRoutes,
  json,
  jsonBody,
  listOf,
  mapOf,
  noContent,
  parameter,
  ref,
  string,
  textOf,
} from "../../openapi/index.ts";

const redirected = { description: "The browser goes on.", content: {}, headers: ["Location"] };

/** The route that a provider leads a browser back to. */
const callback = {
  GET: {
    summary: "The way back from a provider, for browsers",
    access: "anybody",
    query: { state: parameter("The state of the sign-in."), code: parameter("The code of the provider.") },
    answers: { 302: redirected },
    errors: [404],
  },
  POST: {
    summary: "The way back from a provider that answers with a form",
    access: "anybody",
    body: { content: { "application/x-www-form-urlencoded": mapOf(string) }, isOptional: true },
    answers: { 200: textOf("text/html", "A page that leads on.") },
  },
} as const satisfies DescribedRoutes["routes"][string];

export const providersDescribed: DescribedRoutes = {
  tag: "Providers",
  routes: {
    "/api/auth/providers": {
      GET: {
        summary: "The providers of sign-ins",
        access: "anybody",
        answers: { 200: json(listOf(ref("ProviderEntry"))) },
      },
    },
    "/api/auth/oauth/callback": callback,
    "/api/auth/oauth/callback/:name": callback,
    "/api/auth/oauth/token": {
      POST: {
        summary: "Exchange the code of a sign-in at a provider",
        access: "anybody",
        body: jsonBody({
          type: "object",
          properties: { code: string, verifier: string },
          required: ["code", "verifier"],
        }),
        answers: { 200: json({ anyOf: [ref("LoginResponse"), ref("LinkResponse")] }) },
        errors: [401, 403, 409],
      },
    },
    "/api/auth/oauth/:name": {
      GET: {
        summary: "Begin a sign-in at a provider, in a browser",
        access: "anybody",
        query: {
          redirect: parameter("The address of the app for the outcome."),
          challenge: parameter("The SHA-256 hash of the verifier, in base64url."),
          ticket: parameter("Of a signed-in user who adds a link."),
        },
        answers: { 302: redirected },
      },
    },
    "/api/auth/links": {
      GET: { summary: "The own links", access: "user", answers: { 200: json(listOf(ref("Link"))) } },
    },
    "/api/auth/links/:name": {
      POST: {
        summary: "Begin to add a link",
        access: "user",
        body: jsonBody({ type: "object", properties: { redirect: string, challenge: string } }),
        answers: { 200: json({ type: "object", properties: { url: string }, required: ["url"] }) },
        errors: [409],
      },
      DELETE: { summary: "Remove a link", access: "user", answers: { 204: noContent() }, errors: [409] },
    },
  },
};
