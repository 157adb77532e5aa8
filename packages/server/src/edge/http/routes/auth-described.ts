/** Descriptions of the routes of registration, login, refresh, logout and the set-up of the first admin. */
import {
  type DescribedRoutes,
  email,
  json,
  jsonBody,
  noContent,
  optionalBody,
  parameter,
  password,
  ref,
  string,
} from "../../openapi/index.ts";
import { firstAdminPath } from "./auth.ts";

const refreshToken = { refreshToken: string };

export const authDescribed: DescribedRoutes = {
  tag: "Sign-in",
  routes: {
    "/api/auth/register": {
      POST: {
        summary: "Register a user",
        description: "The body may also have fields of users.",
        access: "anybody",
        body: jsonBody(ref("Credentials")),
        answers: {
          201: json(ref("TokenResponse")),
          202: json(ref("VerificationRequired"), "The address has to be proven first (auth.requireVerified)."),
        },
        errors: [403, 409],
      },
    },
    "/api/auth/login": {
      POST: {
        summary: "Sign in with a password",
        access: "anybody",
        body: jsonBody(ref("Credentials")),
        answers: { 200: json(ref("LoginResponse"), "Tokens; or the attempt of a user with a second factor.") },
        errors: [401, 403],
      },
    },
    "/api/auth/refresh": {
      POST: {
        summary: "Exchange a refresh token",
        access: "anybody",
        body: jsonBody({ type: "object", properties: refreshToken, required: ["refreshToken"] }),
        answers: { 200: json(ref("TokenResponse")) },
        errors: [401, 403],
      },
    },
    "/api/auth/logout": {
      POST: {
        summary: "End the session of the token, or of a refresh token",
        access: "anybody",
        body: optionalBody({ type: "object", properties: refreshToken }),
        answers: { 204: noContent() },
        errors: [401, 403],
      },
    },
    [firstAdminPath]: {
      GET: {
        summary: "Whether the service waits for the first admin",
        access: "anybody",
        query: { token: parameter("The token of the set-up link.") },
        answers: { 200: json(ref("SetupStatus")) },
        errors: [401, 403, 404],
      },
      POST: {
        summary: "Make the first admin",
        access: "anybody",
        body: jsonBody({
          type: "object",
          properties: { email, password, token: string },
          required: ["email", "password"],
        }),
        query: { token: parameter("The token of the set-up link, unless the body has the token.") },
        answers: { 201: json(ref("TokenResponse")) },
        errors: [401, 403, 404, 409],
      },
    },
  },
};
