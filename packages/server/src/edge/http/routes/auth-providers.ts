/** `/api/auth/…` of providers: sign-ins that lead through a provider and back, and the links of the signed-in user. */
import * as wire from "@socle/protocol/wire";
import type { AppRequest, Providers } from "../../../people/auth/index.ts";
import type { AuthPages } from "../auth-page.ts";
import { BrowserCookie } from "../browser-cookie.ts";
import {
  anybody,
  type Methods,
  ownRoute,
  parameter,
  type Routes,
  route,
  textAnswer,
  unchecked,
  userOrNobody,
  users,
} from "../route.ts";
import { inBrowser, privateHeaders, redirect } from "../sign-in-page.ts";

const access = users("see or change your links");
const redirected = { description: "The browser goes on.", content: {}, headers: ["Location"] };
const appTarget = wire.object({ redirect: wire.optional(wire.string), challenge: wire.optional(wire.string) });

/** Bytes of the form with which a provider answers. */
const maxForm = 64 * 1_024;
/** Parameters of a provider's answer (RFC 6749, 4.1.2; RFC 9207); another parameter does not count. */
const answerNames = ["code", "state", "iss", "error"];
const formType = "application/x-www-form-urlencoded";

function appRequest(read: (name: string) => string | null | undefined): AppRequest {
  return { redirect: read("redirect") ?? null, challenge: read("challenge") ?? null };
}

interface Parts {
  readonly providers: Providers;
  /** Null for pages that are switched off. */
  readonly pages: AuthPages | null;
}

export function providerRoutes(api: Parts): Routes {
  const callback: Methods = {
    GET: ownRoute({
      summary: "The way back from a provider, for browsers",
      access: "anybody",
      rate: "login",
      query: { state: parameter("The state of the sign-in."), code: parameter("The code of the provider.") },
      answers: { 302: redirected },
      errors: [404],
      handle: inBrowser(
        () => api.pages,
        async (exchange) => {
          const answer = new URLSearchParams(exchange.search);
          const cookie = new BrowserCookie(api.providers.isSecure);
          const browser = { secret: cookie.secretOf(exchange), caller: exchange.waiter };
          return redirect(exchange, await api.providers.callback(exchange.params["name"] ?? null, answer, browser));
        },
      ),
    }),
    /**
     * The form of a provider (`response_mode=form_post`). A browser sends no cookie with a form of another site, so a page of this
     * service leads the browser to the same answer as a GET.
     */
    POST: ownRoute({
      summary: "The way back from a provider that answers with a form",
      access: "anybody",
      rate: "login",
      body: { content: { [formType]: wire.mapOf(wire.string).schema }, isOptional: true },
      answers: { 200: textAnswer("text/html", "A page that leads on.") },
      async handle(exchange) {
        const form = new URLSearchParams(new TextDecoder().decode(await exchange.body(maxForm)));
        const answer = new URLSearchParams([...form].filter(([name]) => answerNames.includes(name)));
        const page = `<!doctype html><meta charset="utf-8"><title>Signing in</title><meta http-equiv="refresh" content="0;url=?${String(answer).replaceAll("&", "&amp;")}">`;
        return exchange.respond(200, page, {
          ...privateHeaders,
          "Content-Type": "text/html; charset=utf-8",
          "Content-Security-Policy": "default-src 'none'",
        });
      },
    }),
  };

  return {
    "/api/auth/providers": {
      GET: route({
        summary: "The providers of sign-ins",
        access: anybody,
        answers: { 200: wire.listOf(wire.providerEntry) },
        handle: () => ({ items: api.providers.list() }),
      }),
    },
    "/api/auth/oauth/callback": callback,
    "/api/auth/oauth/callback/:name": callback,
    "/api/auth/oauth/token": {
      POST: route({
        summary: "Exchange the code of a sign-in at a provider",
        access: userOrNobody,
        rate: "login",
        body: unchecked(wire.object({ code: wire.string, verifier: wire.string })),
        answers: { 200: wire.either(wire.loginResponse, wire.linkResponse) },
        errors: [401, 403, 409],
        handle: (exchange, principal, body) => api.providers.exchange(body, { principal, caller: exchange.waiter }),
      }),
    },
    "/api/auth/oauth/:name": {
      GET: ownRoute({
        summary: "Begin a sign-in at a provider, in a browser",
        access: "anybody",
        rate: "login",
        query: {
          redirect: parameter("The address of the app for the outcome."),
          challenge: parameter("The SHA-256 hash of the verifier, in base64url."),
          ticket: parameter("Of a signed-in user who adds a link."),
        },
        answers: { 302: redirected },
        handle: inBrowser(
          () => api.pages,
          async (exchange) => {
            const { secret, headers } = new BrowserCookie(api.providers.isSecure).keep(exchange);
            const from = exchange.query("ticket") ?? appRequest((name) => exchange.query(name));
            const visitor = { secret, caller: exchange.waiter };
            return redirect(exchange, await api.providers.begin(exchange.param("name"), from, visitor), headers);
          },
        ),
      }),
    },
    "/api/auth/links": {
      GET: route({
        summary: "The own links",
        access,
        answers: { 200: wire.listOf(wire.link) },
        handle: (_, { userId }) => ({ items: api.providers.accounts.links(userId) }),
      }),
    },
    "/api/auth/links/:name": {
      POST: route({
        summary: "Begin to add a link",
        access,
        body: appTarget,
        answers: { 200: wire.object({ url: wire.string }) },
        errors: [409],
        async handle(exchange, user, { redirect: target = null, challenge = null }) {
          const from = { redirect: target, challenge };
          return { url: await api.providers.addTicket(user, exchange.param("name"), from) };
        },
      }),
      DELETE: route({
        summary: "Remove a link",
        access,
        answers: { 204: null },
        errors: [409],
        handle: (exchange, user) => api.providers.accounts.removeLink(user, exchange.param("name"), exchange.waiter),
      }),
    },
  };
}
