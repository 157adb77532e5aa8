/** `/api/admin/users`: users, roles, passwords and sessions. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { type AdminRoutes, answerPage, readAdminBody } from "./for-admins.ts";

export function userRoutes({ users }: Admin): AdminRoutes {
  return {
    "/api/admin/users": {
      GET(exchange) {
        const filter = { search: exchange.query("search"), role: exchange.query("role") };
        return answerPage(exchange, (page) => users.search(filter, page));
      },
      async POST(exchange, admin) {
        return exchange.json(201, await users.create(await readAdminBody(exchange), admin));
      },
    },
    "/api/admin/invitations": {
      async POST(exchange, admin) {
        return exchange.json(201, await users.invite(await readAdminBody(exchange), admin, exchange.waiter));
      },
    },
    "/api/admin/users/:id": {
      GET: (exchange) => exchange.json(200, users.get(exchange.param("id"))),
      async PATCH(exchange, admin) {
        const id = exchange.param("id");
        // An unknown id is refused before the body is read.
        users.get(id);
        return exchange.json(200, await users.setRole(id, await readAdminBody(exchange), admin));
      },
      async DELETE(exchange, admin) {
        await users.delete(exchange.param("id"), admin);
        return exchange.empty();
      },
    },
    "/api/admin/users/:id/password": {
      async POST(exchange, admin) {
        const id = exchange.param("id");
        // An unknown id is refused before the body is read.
        users.get(id);
        return exchange.json(200, await users.setPassword(id, await readAdminBody(exchange), admin));
      },
    },
    "/api/admin/users/:id/reset": {
      async POST(exchange, admin) {
        await users.sendReset(exchange.param("id"), admin, exchange.waiter);
        return exchange.json(202, {});
      },
    },
    "/api/admin/users/:id/verification": {
      async POST(exchange, admin) {
        await users.sendVerification(exchange.param("id"), admin, exchange.waiter);
        return exchange.json(202, {});
      },
    },
    "/api/admin/users/:id/factors": {
      GET: (exchange) => exchange.json(200, users.factors(exchange.param("id"))),
      async DELETE(exchange, admin) {
        await users.removeFactors(exchange.param("id"), admin);
        return exchange.empty();
      },
    },
    "/api/admin/users/:id/factors/:factor": {
      async DELETE(exchange, admin) {
        await users.removeFactor(exchange.param("id"), exchange.param("factor"), admin);
        return exchange.empty();
      },
    },
    "/api/admin/users/:id/links": {
      GET: (exchange) => exchange.json(200, { items: users.links(exchange.param("id")) }),
    },
    "/api/admin/users/:id/links/:name": {
      async DELETE(exchange, admin) {
        await users.removeLink(exchange.param("id"), exchange.param("name"), admin);
        return exchange.empty();
      },
    },
    "/api/admin/users/:id/sessions/:sid": {
      async DELETE(exchange, admin) {
        await users.endSession(exchange.param("id"), exchange.param("sid"), admin);
        return exchange.empty();
      },
    },
  };
}
