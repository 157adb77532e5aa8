/** `/api/admin/users`: users, roles, passwords and sessions. */
import { ROLES } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import { admins as access, answer, parameter, type Routes, route, unchecked } from "../../route.ts";
import { pageRoute } from "./paging.ts";

const role = wire.enumOf(ROLES);
const mailed = answer(wire.freeObject, "The mail is on the way.");
const idOf = (exchange: Exchange): string => exchange.param("id");

export function userRoutes(api: { admin: Admin }): Routes {
  /** An unknown id is refused before the body is read. */
  const find = (exchange: Exchange): unknown => api.admin.users.get(idOf(exchange));
  return {
    "/api/admin/users": {
      GET: pageRoute({
        summary: "The users",
        item: wire.user,
        keys: true,
        query: { search: parameter("A part of the email."), role: parameter("A role.", role) },
        find(page, exchange) {
          return api.admin.users.search({ search: exchange.query("search"), role: exchange.query("role") }, page);
        },
      }),
      POST: route({
        summary: "Make a user",
        description: "The body may also have fields of users.",
        access,
        body: unchecked(wire.object({ email: wire.email, password: wire.password, role: wire.optional(role) })),
        answers: { 201: wire.user },
        errors: [409],
        handle: (_, admin, body) => api.admin.users.create(body, admin),
      }),
    },
    "/api/admin/invitations": {
      POST: route({
        summary: "Invite a person by mail",
        access,
        body: unchecked(
          wire.only({
            email: wire.email,
            role: wire.optional(role),
            data: wire.optional(wire.about(wire.orNull(wire.freeObject), "Fields of users.")),
          }),
        ),
        answers: { 201: wire.invitation },
        errors: [409],
        handle: (exchange, admin, body) => api.admin.users.invite(body, admin, exchange.waiter),
      }),
    },
    "/api/admin/users/:id": {
      GET: route({
        summary: "A user",
        access,
        keys: true,
        answers: { 200: wire.userEntry },
        handle: (exchange) => api.admin.users.get(idOf(exchange)),
      }),
      PATCH: route({
        summary: "Change the role of a user",
        access,
        find,
        body: wire.only({ role }),
        answers: { 200: wire.user },
        handle: (exchange, admin, body) => api.admin.users.setRole(idOf(exchange), body.role, admin),
      }),
      DELETE: route({
        summary: "Delete a user",
        access,
        answers: { 204: null },
        errors: [400],
        handle: (exchange, admin) => api.admin.users.delete(idOf(exchange), admin),
      }),
    },
    "/api/admin/users/:id/password": {
      POST: route({
        summary: "Set the password of a user",
        access,
        find,
        body: wire.only({ password: wire.password }),
        answers: { 200: wire.user },
        handle: (exchange, admin, body) => api.admin.users.setPassword(idOf(exchange), body, admin),
      }),
    },
    "/api/admin/users/:id/reset": {
      POST: route({
        summary: "Mail a link that sets a new password",
        access,
        answers: { 202: mailed },
        async handle(exchange, admin) {
          await api.admin.users.sendReset(idOf(exchange), admin, exchange.waiter);
          return {};
        },
      }),
    },
    "/api/admin/users/:id/verification": {
      POST: route({
        summary: "Mail a link that proves the address",
        access,
        answers: { 202: mailed },
        errors: [400],
        async handle(exchange, admin) {
          await api.admin.users.sendVerification(idOf(exchange), admin, exchange.waiter);
          return {};
        },
      }),
    },
    "/api/admin/users/:id/factors/:factor": {
      DELETE: route({
        summary: "Remove a factor of a user",
        access,
        answers: { 204: null },
        handle: (exchange, admin) => api.admin.users.removeFactor(idOf(exchange), exchange.param("factor"), admin),
      }),
    },
    "/api/admin/users/:id/factors": {
      GET: route({
        summary: "The factors of a user",
        access,
        answers: { 200: wire.userFactors },
        handle: (exchange) => api.admin.users.factors(idOf(exchange)),
      }),
      DELETE: route({
        summary: "Remove the factors of a user",
        access,
        answers: { 204: null },
        handle: (exchange, admin) => api.admin.users.removeFactors(idOf(exchange), admin),
      }),
    },
    "/api/admin/users/:id/links": {
      GET: route({
        summary: "The links of a user",
        access,
        answers: { 200: wire.listOf(wire.link) },
        handle: (exchange) => ({ items: api.admin.users.links(idOf(exchange)) }),
      }),
    },
    "/api/admin/users/:id/links/:name": {
      DELETE: route({
        summary: "Remove a link of a user",
        access,
        answers: { 204: null },
        handle: (exchange, admin) => api.admin.users.removeLink(idOf(exchange), exchange.param("name"), admin),
      }),
    },
    "/api/admin/users/:id/sessions/:sid": {
      DELETE: route({
        summary: "End a session of a user",
        access,
        answers: { 204: null },
        handle: (exchange, admin) => api.admin.users.endSession(idOf(exchange), exchange.param("sid"), admin),
      }),
    },
  };
}
