/** Descriptions of the routes of the own account: the user, the password and the sessions. */
import {
  type DescribedRoutes,
  json,
  jsonBody,
  listOf,
  noContent,
  optionalBody,
  password,
  ref,
} from "../../openapi/index.ts";

export const accountDescribed: DescribedRoutes = {
  tag: "Account",
  routes: {
    "/api/auth/me": {
      GET: {
        summary: "The signed-in user",
        access: "user",
        answers: { 200: json({ type: "object", properties: { user: ref("User") }, required: ["user"] }) },
      },
      DELETE: {
        summary: "Delete the own account",
        access: "user",
        body: optionalBody({ type: "object", properties: { password } }),
        answers: { 204: noContent() },
      },
    },
    "/api/auth/password": {
      PUT: {
        summary: "Change the password",
        access: "user",
        body: jsonBody({ type: "object", properties: { current: password, password }, required: ["password"] }),
        answers: { 204: noContent() },
      },
    },
    "/api/auth/sessions": {
      GET: { summary: "The own sessions", access: "user", answers: { 200: json(listOf(ref("OwnSession"))) } },
      DELETE: { summary: "End the own other sessions", access: "user", answers: { 204: noContent() } },
    },
    "/api/auth/sessions/:id": {
      DELETE: { summary: "End an own session", access: "user", answers: { 204: noContent() } },
    },
  },
};
