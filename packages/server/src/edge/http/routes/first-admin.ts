/** Routes of the set-up link, for a service without an admin. */
import type { FirstAdmin } from "../../../operate/admin/index.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Route } from "../router.ts";

/** The path of the set-up link in the start log. */
export const firstAdminPath = "/api/auth/setup";

/** The set-up of a service without an admin: the token is in the query, as in the link, or in the body. */
export function firstAdminRoutes(options: { firstAdmin: FirstAdmin; bodyLimit: number; rates: RateLimiter }): Route[] {
  const { firstAdmin, bodyLimit, rates } = options;
  return [
    rates.limit("setup", {
      path: firstAdminPath,
      methods: {
        GET(exchange) {
          const token = exchange.query("token");
          if (token === null) return exchange.json(200, { status: firstAdmin.status() });
          const invitation = firstAdmin.check(token);
          const next = "To make the first admin, POST { email, password } as JSON to this address.";
          return exchange.json(200, { status: "open", ...invitation, next });
        },
        async POST(exchange) {
          const { token = exchange.query("token"), ...body } = await exchange.object(bodyLimit);
          return exchange.json(201, await firstAdmin.create(body, token, exchange.waiter));
        },
      },
    }),
  ];
}
