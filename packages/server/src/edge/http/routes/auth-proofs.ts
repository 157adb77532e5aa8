/** `/api/auth/…` of proofs: tokens and codes from mails, which prove an address, set a password, move an account or sign in. */
import * as wire from "@socle/protocol/wire";
import { type Auth, readCode, readEmail, readOptionalPassword, readPassword } from "../../../people/auth/index.ts";
import { answer, anybody, jsonBody, ownRoute, type Routes, route, userOrNobody, users } from "../route.ts";

const accepted = answer(wire.freeObject, "Accepted. The answer is the same for an unknown address.");
const address = wire.object({ email: wire.email });
const tokenWithPassword = wire.object({ token: wire.text, password: wire.optionalText(wire.password) });
const tokenAndPassword = wire.object({ token: wire.text, password: wire.password });

/** A token of a body, and the password beside the token, if the body has a password. */
function shownProof(body: wire.TypeOf<typeof tokenWithPassword>): { token: string; password: string | null } {
  return { token: body.token, password: readOptionalPassword(body) };
}

export function proofRoutes(api: { auth: Auth }): Routes {
  return {
    "/api/auth/verify": {
      POST: route({
        summary: "Prove the address with the token of a mail",
        access: userOrNobody,
        rate: "login",
        body: tokenWithPassword,
        answers: { 204: null },
        errors: [401, 403],
        handle: (exchange, principal, body) =>
          api.auth.proofs.verify(shownProof(body), { principal, caller: exchange.waiter }),
      }),
    },
    "/api/auth/verify/request": {
      POST: ownRoute({
        summary: "Ask for a mail that proves the address",
        description: "A signed-in user needs no body.",
        access: "anybody",
        rate: "mail",
        body: jsonBody(wire.object({ email: wire.optional(wire.email) }), { isOptional: true }),
        answers: { 202: accepted },
        errors: [401, 403],
        async handle(exchange) {
          const { users, proofs } = api.auth;
          const principal = await exchange.session();
          const email = principal === null ? users.readEmail(await exchange.object()) : users.emailOf(principal.userId);
          proofs.requestVerification(email, exchange.waiter);
          return exchange.json(202, {});
        },
      }),
    },
    "/api/auth/password/forgot": {
      POST: route({
        summary: "Ask for a mail that sets a new password",
        access: anybody,
        rate: "mail",
        body: address,
        answers: { 202: accepted },
        handle(exchange, _, body) {
          api.auth.proofs.requestReset(api.auth.users.readEmail(body), exchange.waiter);
          return {};
        },
      }),
    },
    "/api/auth/password/reset": {
      POST: route({
        summary: "Set a new password with the token of a mail",
        access: anybody,
        rate: "login",
        body: tokenAndPassword,
        answers: { 204: null },
        async handle(exchange, _, body) {
          await api.auth.proofs.reset({ token: body.token, password: readPassword(body) }, exchange.waiter);
        },
      }),
    },
    "/api/auth/email": {
      POST: route({
        summary: "Ask for a change of the own address",
        access: users("change the address of your account"),
        rate: "mail",
        body: wire.object({ email: wire.email, password: wire.optionalText(wire.password) }),
        answers: { 202: accepted },
        async handle(exchange, principal, body) {
          const change = { email: readEmail(body), password: readOptionalPassword(body) };
          await api.auth.proofs.requestEmail(change, { principal, caller: exchange.waiter });
          return {};
        },
      }),
    },
    "/api/auth/email/confirm": {
      POST: route({
        summary: "Move the account to the new address",
        access: userOrNobody,
        rate: "login",
        body: tokenWithPassword,
        answers: { 204: null },
        errors: [401, 403, 409],
        handle: (exchange, principal, body) =>
          api.auth.proofs.confirmEmail(shownProof(body), { principal, caller: exchange.waiter }),
      }),
    },
    "/api/auth/code/request": {
      POST: route({
        summary: "Ask for a mail with a code that signs in, or gives an anonymous user the address",
        access: userOrNobody,
        rate: "mail",
        body: address,
        answers: { 202: wire.codeRequested },
        errors: [403, 404],
        handle(exchange, principal, body) {
          const prover = { principal, caller: exchange.waiter };
          return { attempt: api.auth.proofs.codes.request(api.auth.users.readEmail(body), prover) };
        },
      }),
    },
    "/api/auth/code": {
      POST: route({
        summary: "Sign in with a code",
        access: userOrNobody,
        rate: "login",
        body: wire.object({ attempt: wire.text, code: wire.text }),
        answers: { 200: wire.loginResponse },
        errors: [401, 403, 404, 409],
        handle(exchange, principal, body) {
          const shown = { attempt: body.attempt, code: readCode(body) };
          return api.auth.proofs.codes.signIn(shown, { principal, caller: exchange.waiter });
        },
      }),
    },
    "/api/auth/invitation": {
      POST: route({
        summary: "Accept an invitation",
        access: anybody,
        rate: "login",
        body: tokenAndPassword,
        answers: { 200: wire.tokenResponse },
        errors: [403, 409],
        handle: (exchange, _, body) => api.auth.proofs.invitations.accept(body, exchange.waiter),
      }),
    },
  };
}
