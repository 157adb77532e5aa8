/** Routes of the set-up link, for a service without an admin. */
import type { FirstAdmin } from "../../admin/index.ts";
import { readObject } from "../body.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Route } from "../router.ts";

/** Where the set-up link of the start log leads. */
export const firstAdminPath = "/api/auth/setup";

/** The set-up of a service without an admin: the token is in the query, as the link has it, or in the body. */
export function firstAdminRoutes(options: { firstAdmin: FirstAdmin; bodyLimit: number; rates: RateLimiter }): Route[] {
  const { firstAdmin, bodyLimit, rates } = options;
  return [
    rates.limit("setup", {
      path: firstAdminPath,
      methods: {
        async GET(exchange) {
          const invitation = await firstAdmin.check(exchange.query("token"));
          const next = "To make the first admin, POST { email, password } as JSON to this address.";
          return exchange.json(200, { status: "open", ...invitation, next });
        },
        async POST(exchange) {
          const { token = exchange.query("token"), ...body } = await readObject(exchange, bodyLimit);
          return exchange.json(201, await firstAdmin.create(body, token, exchange.waiter));
        },
      },
    }),
  ];
}
