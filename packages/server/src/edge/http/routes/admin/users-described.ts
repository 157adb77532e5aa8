/** Descriptions of the admin routes of users. */
import { ROLES } from "@socle/protocol";
import {
  about,
  type DescribedRoutes,
  email,
  enumOf,
  freeObject,
  json,
  jsonBody,
  listOf,
  noContent,
  orNull,
  parameter,
  password,
  ref,
} from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

const role = enumOf(ROLES);
const mailed = json(freeObject, "The mail is on the way.");

export const usersDescribed: DescribedRoutes = {
  tag: "Admin: users",
  routes: {
    "/api/admin/users": {
      GET: paging("The users", "User", { search: "A part of the email.", role: parameter("A role.", role) }),
      POST: {
        summary: "Make a user",
        description: "The body may also have fields of users.",
        access: "admin",
        body: jsonBody({ type: "object", properties: { email, password, role }, required: ["email", "password"] }),
        answers: { 201: json(ref("User")) },
        errors: [409],
      },
    },
    "/api/admin/invitations": {
      POST: {
        summary: "Invite a person by mail",
        access: "admin",
        body: jsonBody({
          type: "object",
          properties: { email, role, data: about(orNull(freeObject), "Fields of users.") },
          required: ["email"],
          additionalProperties: false,
        }),
        answers: { 201: json(ref("Invitation")) },
        errors: [409],
      },
    },
    "/api/admin/users/:id": {
      GET: { summary: "A user", access: "admin", answers: { 200: json(ref("UserEntry")) } },
      PATCH: {
        summary: "Change the role of a user",
        access: "admin",
        body: jsonBody({ type: "object", properties: { role }, required: ["role"], additionalProperties: false }),
        answers: { 200: json(ref("User")) },
      },
      DELETE: { summary: "Delete a user", access: "admin", answers: { 204: noContent() }, errors: [400] },
    },
    "/api/admin/users/:id/password": {
      POST: {
        summary: "Set the password of a user",
        access: "admin",
        body: jsonBody({
          type: "object",
          properties: { password },
          required: ["password"],
          additionalProperties: false,
        }),
        answers: { 200: json(ref("User")) },
      },
    },
    "/api/admin/users/:id/reset": {
      POST: { summary: "Mail a link that sets a new password", access: "admin", answers: { 202: mailed } },
    },
    "/api/admin/users/:id/verification": {
      POST: {
        summary: "Mail a link that proves the address",
        access: "admin",
        answers: { 202: mailed },
        errors: [400],
      },
    },
    "/api/admin/users/:id/factors/:factor": {
      DELETE: { summary: "Remove a factor of a user", access: "admin", answers: { 204: noContent() } },
    },
    "/api/admin/users/:id/factors": {
      GET: { summary: "The factors of a user", access: "admin", answers: { 200: json(ref("UserFactors")) } },
      DELETE: { summary: "Remove the factors of a user", access: "admin", answers: { 204: noContent() } },
    },
    "/api/admin/users/:id/links": {
      GET: { summary: "The links of a user", access: "admin", answers: { 200: json(listOf(ref("Link"))) } },
    },
    "/api/admin/users/:id/links/:name": {
      DELETE: { summary: "Remove a link of a user", access: "admin", answers: { 204: noContent() } },
    },
    "/api/admin/users/:id/sessions/:sid": {
      DELETE: { summary: "End a session of a user", access: "admin", answers: { 204: noContent() } },
    },
  },
};
