/** Admin routes of collections: definitions, and migrations by changed definitions. */
import type { JsonValue, Operation, RuleTrial } from "@socle/protocol";
import { type Admin, additionOf, changeOf, removalOf, type TrialOutcome } from "../../../../operate/admin/index.ts";
import { statusOf } from "../../headers.ts";
import { pageQuery, switchQuery, toPage } from "../../page-query.ts";
import { type AdminRoute, readAdminBody, waiterOf } from "./for-admins.ts";

/** `/api/admin/collections` and `/api/admin/schema.json`: definitions, and migrations by changed definitions. */
export function collectionRoutes({ schema, trials }: Admin, bodyLimit: number): AdminRoute[] {
  /** The fingerprints of the schema that the caller has seen (If-Match); null for any. */
  const expected = (request: Request): string[] | null => {
    const header = request.headers.get("if-match");
    if (header === null || header.trim() === "*") return null;
    // A proxy that compresses marks tags as weak.
    return header.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, "$1"));
  };

  return [
    {
      path: "/api/admin/collections",
      methods: {
        GET(exchange) {
          const query = pageQuery(exchange);
          return exchange.json(200, toPage(schema.list(query), query));
        },
        async POST(exchange, admin) {
          const isDryRun = switchQuery(exchange, "dryRun");
          const body = await readAdminBody(exchange, bodyLimit);
          const change = await additionOf(body);
          if (isDryRun) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
          return exchange.json(201, await schema.migrate(change, admin));
        },
      },
    },
    {
      path: "/api/admin/collections/:name",
      methods: {
        GET: (exchange) => exchange.json(200, schema.get(exchange.param("name"))),
        async PUT(exchange, admin) {
          const name = exchange.param("name");
          // An unknown name is refused before the body is read.
          schema.get(name);
          const isDryRun = switchQuery(exchange, "dryRun");
          const change = changeOf(name, await readAdminBody(exchange, bodyLimit));
          if (isDryRun) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
          return exchange.json(200, await schema.migrate(change, admin));
        },
        async DELETE(exchange, admin) {
          const change = removalOf(exchange.param("name"));
          if (switchQuery(exchange, "dryRun"))
            return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
          await schema.drop(change, admin);
          return exchange.empty();
        },
      },
    },
    {
      path: "/api/admin/collections/:name/try",
      methods: {
        async POST(exchange, admin) {
          const name = exchange.param("name");
          // An unknown name is refused before the body is read.
          schema.get(name);
          const body = await readAdminBody(exchange, bodyLimit);
          const waiter = { ...waiterOf(exchange, admin), principal: admin };
          return exchange.json(200, trialBody(await trials.try(name, body, waiter)));
        },
      },
    },
    {
      path: "/api/admin/schema.json",
      methods: {
        GET(exchange) {
          const { schema: all, fingerprint } = schema.schema();
          return exchange.respond(200, JSON.stringify(all), {
            "Content-Type": "application/json",
            ETag: `"${fingerprint}"`,
          });
        },
        async PUT(exchange, admin) {
          const isDryRun = switchQuery(exchange, "dryRun");
          const body = await readAdminBody(exchange, bodyLimit);
          const seen = expected(exchange.request);
          const { changes, fingerprint } = isDryRun
            ? await schema.planSchema(body, seen, waiterOf(exchange, admin))
            : await schema.updateSchema(body, seen, admin);
          return exchange.respond(200, JSON.stringify({ changes }), {
            "Content-Type": "application/json",
            ETag: `"${fingerprint}"`,
          });
        },
      },
    },
  ];
}

/** The status of an answer that is no error. */
const statuses: { readonly [operation in Operation]: number } = { read: 200, create: 201, update: 200, delete: 204 };

/** A trial, with the status and the body that the caller would get. */
function trialBody({ as, operation, error, answer, rules }: TrialOutcome): RuleTrial {
  const details = error?.details === undefined ? {} : { details: error.details };
  return {
    as,
    operation,
    allowed: error === null,
    status: error === null ? statuses[operation] : statusOf(error),
    error: error && { code: error.code, message: error.message, ...details },
    // Made by the service a moment ago.
    answer: answer && (JSON.parse(answer.text) as JsonValue),
    rules,
  };
}
