/** `/api/auth/me`, `/api/auth/sessions` and `/api/auth/password`: the account of the signed-in user. */
import * as wire from "@socle/protocol/wire";
import { AppError } from "../../../base/kernel/index.ts";
import { type Account, type Auth, readOptionalPassword, readPassword } from "../../../people/auth/index.ts";
import { bearers, type Methods, optionalBody, type Routes, route, users } from "../route.ts";

const toSeeSessions = users("see or end your sessions");
const toChange = users("change your account");

/** `GET /api/auth/me`. */
export function meReads(api: { auth: Auth }): { readonly "/api/auth/me": Methods } {
  return {
    "/api/auth/me": {
      GET: route({
        summary: "The signed-in user",
        access: bearers("see your user"),
        keys: true,
        answers: { 200: wire.object({ user: wire.user }) },
        handle(_, bearer) {
          const user = api.auth.callers.userOf(bearer);
          if (user === null) throw new AppError("forbidden", "A service key has no user.");
          return { user: api.auth.users.shown(user) };
        },
      }),
    },
  };
}

/** Requests with a password count for the rate of logins. */
export function accountRoutes(api: { account: Account; auth: Auth }): Routes {
  return {
    "/api/auth/me": {
      ...meReads(api)["/api/auth/me"],
      DELETE: route({
        summary: "Delete the own account",
        access: toChange,
        rate: "login",
        body: optionalBody(wire.object({ password: wire.optionalText(wire.password) })),
        answers: { 204: null },
        handle: (exchange, principal, body) =>
          api.account.delete({ principal, caller: exchange.waiter }, readOptionalPassword(body)),
      }),
    },
    "/api/auth/password": {
      PUT: route({
        summary: "Change the password",
        access: toChange,
        rate: "login",
        body: wire.object({ current: wire.optionalText(wire.password), password: wire.password }),
        answers: { 204: null },
        handle(exchange, principal, body) {
          const passwords = { current: readOptionalPassword(body, "current"), password: readPassword(body) };
          return api.account.setPassword({ principal, caller: exchange.waiter }, passwords);
        },
      }),
    },
    "/api/auth/sessions": {
      GET: route({
        summary: "The own sessions",
        access: toSeeSessions,
        answers: { 200: wire.listOf(wire.ownSession) },
        handle: (_, user) => ({ items: api.account.sessions(user) }),
      }),
      DELETE: route({
        summary: "End the own other sessions",
        access: toSeeSessions,
        answers: { 204: null },
        handle: (_, user) => api.account.endOtherSessions(user),
      }),
    },
    "/api/auth/sessions/:id": {
      DELETE: route({
        summary: "End an own session",
        access: toSeeSessions,
        answers: { 204: null },
        handle: (exchange, user) => api.account.endSession(user, exchange.param("id")),
      }),
    },
  };
}
