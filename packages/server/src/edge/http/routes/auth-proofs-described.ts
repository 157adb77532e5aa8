/** Descriptions of the routes of proofs: tokens and codes from mails. */
import {
  type DescribedRoutes,
  email,
  freeObject,
  json,
  jsonBody,
  noContent,
  optionalBody,
  password,
  ref,
  type Schema,
  string,
} from "../../openapi/index.ts";

function bodyOf(properties: { readonly [name: string]: Schema }, required: readonly string[]): Schema {
  return { type: "object", properties, required };
}

const accepted = json(freeObject, "Accepted. The answer is the same for an unknown address.");
const tokenWithPassword = bodyOf({ token: string, password }, ["token"]);
const tokenAndPassword = bodyOf({ token: string, password }, ["token", "password"]);

export const proofsDescribed: DescribedRoutes = {
  tag: "Proofs of an address",
  routes: {
    "/api/auth/verify": {
      POST: {
        summary: "Prove the address with the token of a mail",
        access: "anybody",
        body: jsonBody(tokenWithPassword),
        answers: { 204: noContent() },
        errors: [401, 403],
      },
    },
    "/api/auth/verify/request": {
      POST: {
        summary: "Ask for a mail that proves the address",
        description: "A signed-in user needs no body.",
        access: "anybody",
        body: optionalBody(bodyOf({ email }, [])),
        answers: { 202: accepted },
        errors: [401, 403],
      },
    },
    "/api/auth/password/forgot": {
      POST: {
        summary: "Ask for a mail that sets a new password",
        access: "anybody",
        body: jsonBody(bodyOf({ email }, ["email"])),
        answers: { 202: accepted },
      },
    },
    "/api/auth/password/reset": {
      POST: {
        summary: "Set a new password with the token of a mail",
        access: "anybody",
        body: jsonBody(tokenAndPassword),
        answers: { 204: noContent() },
      },
    },
    "/api/auth/email": {
      POST: {
        summary: "Ask for a change of the own address",
        access: "user",
        body: jsonBody(bodyOf({ email, password }, ["email"])),
        answers: { 202: accepted },
      },
    },
    "/api/auth/email/confirm": {
      POST: {
        summary: "Move the account to the new address",
        access: "anybody",
        body: jsonBody(tokenWithPassword),
        answers: { 204: noContent() },
        errors: [401, 403, 409],
      },
    },
    "/api/auth/code/request": {
      POST: {
        summary: "Ask for a mail with a code that signs in",
        access: "anybody",
        body: jsonBody(bodyOf({ email }, ["email"])),
        answers: { 202: json(ref("CodeRequested")) },
        errors: [403, 404],
      },
    },
    "/api/auth/code": {
      POST: {
        summary: "Sign in with a code",
        access: "anybody",
        body: jsonBody(bodyOf({ attempt: string, code: string }, ["attempt", "code"])),
        answers: { 200: json(ref("LoginResponse")) },
        errors: [401, 403, 404],
      },
    },
    "/api/auth/invitation": {
      POST: {
        summary: "Accept an invitation",
        access: "anybody",
        body: jsonBody(tokenAndPassword),
        answers: { 200: json(ref("TokenResponse")) },
        errors: [403, 409],
      },
    },
  },
};
