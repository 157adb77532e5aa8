/** `/api/auth/…` of second factors and passkeys: authenticator apps, recovery codes, passkeys, and the sign-ins with these. */
import * as wire from "@socle/protocol/wire";
import type { Auth } from "../../../people/auth/index.ts";
import { anybody, optionalBody, type Routes, route, unchecked, users } from "../route.ts";

const access = users("see or change your second factors and passkeys");

export function factorRoutes(api: { auth: Auth }): Routes {
  return {
    "/api/auth/factors": {
      GET: route({
        summary: "The own factors and passkeys",
        access,
        answers: { 200: wire.userFactors },
        handle: (_, { userId }) => api.auth.factors.of(userId),
      }),
    },
    "/api/auth/totp": {
      POST: route({
        summary: "Begin to use an authenticator app",
        access,
        answers: { 200: wire.totpSetup },
        errors: [409],
        handle: (exchange, user) => api.auth.factors.beginTotp(user, exchange.waiter),
      }),
      DELETE: route({
        summary: "Remove the authenticator app",
        access,
        answers: { 204: null },
        errors: [404],
        handle: (exchange, user) => api.auth.factors.removeTotp(user, exchange.waiter),
      }),
    },
    "/api/auth/totp/confirm": {
      POST: route({
        summary: "Confirm the authenticator app",
        access,
        body: unchecked(wire.object({ code: wire.factorCode })),
        answers: { 200: wire.recoveryCodes },
        errors: [404, 409],
        handle: (exchange, user, body) => api.auth.factors.confirmTotp(user, body, exchange.waiter),
      }),
    },
    "/api/auth/recovery-codes": {
      POST: route({
        summary: "Make new recovery codes",
        access,
        answers: { 200: wire.recoveryCodes },
        errors: [404, 409],
        handle: (exchange, user) => api.auth.factors.renewRecoveryCodes(user, exchange.waiter),
      }),
    },
    "/api/auth/second-factor": {
      POST: route({
        summary: "Show the second factor of a sign-in",
        access: anybody,
        rate: "login",
        body: unchecked(wire.secondFactorProof),
        answers: { 200: wire.tokenResponse },
        errors: [401, 403],
        handle: (exchange, _, body) => api.auth.factors.secondFactor(body, exchange.waiter),
      }),
    },
    "/api/auth/passkeys/options": {
      POST: route({
        summary: "Begin to make a passkey",
        access,
        answers: { 200: wire.passkeyCreation },
        errors: [409],
        handle: (exchange, user) => api.auth.passkeys.creation(user, exchange.waiter),
      }),
    },
    "/api/auth/passkeys": {
      GET: route({
        summary: "The own passkeys",
        access,
        answers: { 200: wire.listOf(wire.passkey) },
        handle: (_, { userId }) => ({ items: api.auth.passkeys.list(userId) }),
      }),
      POST: route({
        summary: "Keep a new passkey",
        access,
        body: unchecked(wire.object({ name: wire.optional(wire.string), passkey: wire.passkeyRegistration })),
        answers: { 201: wire.passkey },
        errors: [409],
        handle: (exchange, user, body) => api.auth.passkeys.register(user, body, exchange.waiter),
      }),
    },
    "/api/auth/passkeys/login/options": {
      POST: route({
        summary: "Begin a sign-in with a passkey",
        access: anybody,
        rate: "login",
        body: optionalBody(wire.object({ attempt: wire.optional(wire.text) })),
        answers: { 200: wire.passkeyRequest },
        errors: [401, 403],
        handle: (exchange, _, { attempt = null }) => api.auth.passkeys.request(attempt, exchange.waiter),
      }),
    },
    "/api/auth/passkeys/login": {
      POST: route({
        summary: "Sign in with a passkey",
        access: anybody,
        rate: "login",
        body: unchecked(wire.object({ passkey: wire.passkeyAssertion })),
        answers: { 200: wire.tokenResponse },
        errors: [401, 403],
        handle: (exchange, _, body) => api.auth.passkeys.signIn(body, exchange.waiter),
      }),
    },
    "/api/auth/passkeys/:id": {
      DELETE: route({
        summary: "Remove a passkey",
        access,
        answers: { 204: null },
        handle: (exchange, user) => api.auth.passkeys.remove(user, exchange.param("id"), exchange.waiter),
      }),
    },
  };
}
