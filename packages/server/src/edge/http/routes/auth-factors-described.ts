/** Descriptions of the routes of second factors and passkeys. */
import {
  type DescribedRoutes,
  json,
  jsonBody,
  listOf,
  noContent,
  optionalBody,
  ref,
  string,
} from "../../openapi/index.ts";

const code = { type: "string", pattern: "^[0-9 ]{6,7}$" };

export const factorsDescribed: DescribedRoutes = {
  tag: "Second factor",
  routes: {
    "/api/auth/factors": {
      GET: { summary: "The own factors and passkeys", access: "user", answers: { 200: json(ref("UserFactors")) } },
    },
    "/api/auth/totp": {
      POST: {
        summary: "Begin to use an authenticator app",
        access: "user",
        answers: { 200: json(ref("TotpSetup")) },
        errors: [409],
      },
      DELETE: { summary: "Remove the authenticator app", access: "user", answers: { 204: noContent() }, errors: [404] },
    },
    "/api/auth/totp/confirm": {
      POST: {
        summary: "Confirm the authenticator app",
        access: "user",
        body: jsonBody({ type: "object", properties: { code }, required: ["code"] }),
        answers: { 200: json(ref("RecoveryCodes")) },
        errors: [404, 409],
      },
    },
    "/api/auth/recovery-codes": {
      POST: {
        summary: "Make new recovery codes",
        access: "user",
        answers: { 200: json(ref("RecoveryCodes")) },
        errors: [404, 409],
      },
    },
    "/api/auth/second-factor": {
      POST: {
        summary: "Show the second factor of a sign-in",
        access: "anybody",
        body: jsonBody({
          type: "object",
          properties: { attempt: string, code, recoveryCode: string, passkey: ref("PasskeyAssertion") },
          required: ["attempt"],
        }),
        answers: { 200: json(ref("TokenResponse")) },
        errors: [401, 403],
      },
    },
    "/api/auth/passkeys/options": {
      POST: {
        summary: "Begin to make a passkey",
        access: "user",
        answers: { 200: json(ref("PasskeyCreation")) },
        errors: [409],
      },
    },
    "/api/auth/passkeys": {
      GET: { summary: "The own passkeys", access: "user", answers: { 200: json(listOf(ref("Passkey"))) } },
      POST: {
        summary: "Keep a new passkey",
        access: "user",
        body: jsonBody({
          type: "object",
          properties: { name: string, passkey: ref("PasskeyRegistration") },
          required: ["passkey"],
        }),
        answers: { 201: json(ref("Passkey")) },
        errors: [409],
      },
    },
    "/api/auth/passkeys/:id": {
      DELETE: { summary: "Remove a passkey", access: "user", answers: { 204: noContent() } },
    },
    "/api/auth/passkeys/login/options": {
      POST: {
        summary: "Begin a sign-in with a passkey",
        access: "anybody",
        body: optionalBody({ type: "object", properties: { attempt: string } }),
        answers: { 200: json(ref("PasskeyRequest")) },
        errors: [401, 403],
      },
    },
    "/api/auth/passkeys/login": {
      POST: {
        summary: "Sign in with a passkey",
        access: "anybody",
        body: jsonBody({ type: "object", properties: { passkey: ref("PasskeyAssertion") }, required: ["passkey"] }),
        answers: { 200: json(ref("TokenResponse")) },
        errors: [401, 403],
      },
    },
  },
};
