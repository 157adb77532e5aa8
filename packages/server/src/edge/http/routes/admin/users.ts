/** Admin routes of users: list, roles, passwords, sessions. */
import type { Admin } from "../../../../operate/admin/index.ts";
import { pageQuery, toPage } from "../../page-query.ts";
import { type AdminRoute, readAdminBody } from "./for-admins.ts";

/** `/api/admin/users`: users, their roles, passwords and sessions. */
export function userRoutes({ users }: Admin, bodyLimit: number): AdminRoute[] {
  return [
    {
      path: "/api/admin/users",
      methods: {
        GET(exchange) {
          const query = pageQuery(exchange);
          const filter = { search: exchange.query("search"), role: exchange.query("role") };
          return exchange.json(200, toPage(users.search(filter, query), query));
        },
        async POST(exchange, admin) {
          return exchange.json(201, await users.create(await readAdminBody(exchange, bodyLimit), admin));
        },
      },
    },
    {
      path: "/api/admin/users/:id",
      methods: {
        GET: (exchange) => exchange.json(200, users.get(exchange.param("id"))),
        async PATCH(exchange, admin) {
          const id = exchange.param("id");
          // An unknown id is refused before the body is read.
          users.get(id);
          return exchange.json(200, await users.setRole(id, await readAdminBody(exchange, bodyLimit), admin));
        },
        async DELETE(exchange, admin) {
          await users.delete(exchange.param("id"), admin);
          return exchange.empty();
        },
      },
    },
    {
      path: "/api/admin/users/:id/password",
      methods: {
        async POST(exchange, admin) {
          const id = exchange.param("id");
          // An unknown id is refused before the body is read.
          users.get(id);
          return exchange.json(200, await users.setPassword(id, await readAdminBody(exchange, bodyLimit), admin));
        },
      },
    },
    {
      path: "/api/admin/users/:id/sessions/:sid",
      methods: {
        async DELETE(exchange, admin) {
          await users.endSession(exchange.param("id"), exchange.param("sid"), admin);
          return exchange.empty();
        },
      },
    },
  ];
}
