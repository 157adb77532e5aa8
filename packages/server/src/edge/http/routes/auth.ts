/** `/api/auth/…` (spec, "Authentication endpoints"): register, login, refresh, logout, and the set-up of the first admin. */
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../operate/admin/index.ts";
import { type Auth, readCredentials } from "../../../people/auth/index.ts";
import {
  answer,
  anybody,
  optionalBody,
  parameter,
  type Routes,
  route,
  unchecked,
  userOrNobody,
  users,
} from "../route.ts";

/** The path of the set-up link in the start log. */
export const firstAdminPath = "/api/auth/setup";

export function authRoutes(api: { auth: Auth; admin: Admin }): Routes {
  return {
    "/api/auth/register": {
      POST: route({
        summary: "Register a user",
        description: "The body may also have fields of users.",
        access: anybody,
        rate: "register",
        body: unchecked(wire.credentials),
        answers: {
          201: answer(wire.tokenResponse),
          202: answer(wire.verificationRequired, "The address has to be proven first (auth.requireVerified)."),
        },
        errors: [403, 409],
        async handle(exchange, _, body) {
          const made = await api.auth.registrations.register(body, exchange.waiter);
          return exchange.json("next" in made ? 202 : 201, made);
        },
      }),
    },
    "/api/auth/anonymous": {
      POST: route({
        summary: "Make an anonymous user",
        description: "For auth.anonymous. The user has no email until the user claims an account.",
        access: anybody,
        rate: "register",
        answers: { 200: wire.tokenResponse },
        errors: [403],
        handle: (exchange) => api.auth.registrations.makeAnonymous(exchange.waiter),
      }),
    },
    "/api/auth/anonymous/claim": {
      POST: route({
        summary: "Ask for a mail that gives the anonymous user an address and a password",
        access: users("claim an account"),
        rate: "mail",
        body: wire.credentials,
        answers: { 202: answer(wire.freeObject, "Accepted: the mail has the token of /api/auth/verify.") },
        errors: [409],
        async handle(exchange, principal, body) {
          await api.auth.proofs.claim(readCredentials(body), { principal, caller: exchange.waiter });
          return {};
        },
      }),
    },
    "/api/auth/login": {
      POST: route({
        summary: "Sign in with a password",
        access: anybody,
        rate: "login",
        body: wire.credentials,
        answers: { 200: answer(wire.loginResponse, "Tokens; or the attempt of a user with a second factor.") },
        errors: [401, 403],
        handle: (exchange, _, body) => api.auth.login(readCredentials(body), exchange.waiter),
      }),
    },
    "/api/auth/refresh": {
      POST: route({
        summary: "Exchange a refresh token",
        access: anybody,
        rate: "refresh",
        body: wire.object({ refreshToken: wire.token }),
        answers: { 200: wire.tokenResponse },
        errors: [401, 403],
        handle: (_, __, { refreshToken }) => api.auth.refresh(refreshToken),
      }),
    },
    "/api/auth/logout": {
      POST: route({
        summary: "End the session of the token, or of a refresh token",
        access: userOrNobody,
        body: optionalBody(wire.object({ refreshToken: wire.optional(wire.token) })),
        answers: { 204: null },
        errors: [401, 403],
        handle: (_, user, { refreshToken = null }) => api.auth.logout(user, refreshToken),
      }),
    },
    // For a service without an admin: the token is in the query, as in the link, or in the body.
    [firstAdminPath]: {
      GET: route({
        summary: "Whether the service waits for the first admin",
        access: anybody,
        rate: "setup",
        query: { token: parameter("The token of the set-up link.") },
        answers: { 200: wire.setupStatus },
        errors: [401, 403, 404],
        handle(exchange): wire.SetupStatus {
          const { firstAdmin } = api.admin;
          const token = exchange.query("token");
          if (token === null) return { status: firstAdmin.status() };
          const next = "To make the first admin, POST { email, password } as JSON to this address.";
          return { status: "open", ...firstAdmin.check(token), next };
        },
      }),
      POST: route({
        summary: "Make the first admin",
        access: anybody,
        rate: "setup",
        body: unchecked(wire.object({ email: wire.email, password: wire.password, token: wire.optional(wire.token) })),
        query: { token: parameter("The token of the set-up link, unless the body has the token.") },
        answers: { 201: wire.tokenResponse },
        errors: [401, 403, 404, 409],
        handle(exchange, _, { token = exchange.query("token"), ...body }) {
          return api.admin.firstAdmin.create(body, token, exchange.waiter);
        },
      }),
    },
  };
}
