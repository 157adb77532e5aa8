/** `/api/admin/collections` and `/api/admin/schema.json`: definitions, and migrations by changed definitions. */
import type { JsonValue, Operation, RuleTrial } from "@socle/protocol";
import { readChoice } from "../../../../base/kernel/index.ts";
import { type Admin, additionOf, changeOf, removalOf, type TrialOutcome } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import { statusOf } from "../../headers.ts";
import type { HttpRequest } from "../../passed-request.ts";
import { type AdminRoutes, answerPage, answerPageOf, readAdminBody, waiterOf } from "./for-admins.ts";

export function collectionRoutes({ schema, trials }: Admin): AdminRoutes {
  /** The fingerprints of the schema that the caller has seen (If-Match); null for any. */
  const expected = (request: HttpRequest): string[] | null => {
    const header = request.headers.get("if-match");
    if (header === null || header.trim() === "*") return null;
    // A proxy that compresses marks tags as weak.
    return header.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, "$1"));
  };

  return {
    "/api/admin/collections": {
      GET: (exchange) => answerPage(exchange, (page) => schema.list(page)),
      async POST(exchange, admin) {
        const isDry = isDryRun(exchange);
        const body = await readAdminBody(exchange);
        const change = additionOf(body);
        if (isDry) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
        return exchange.json(201, await schema.migrate(change, admin));
      },
    },
    "/api/admin/collections/:name": {
      GET: (exchange) => exchange.json(200, schema.get(exchange.param("name"))),
      async PUT(exchange, admin) {
        const name = exchange.param("name");
        // An unknown name is refused before the body is read.
        schema.refuseMissing(name);
        const isDry = isDryRun(exchange);
        const change = changeOf(name, await readAdminBody(exchange));
        if (isDry) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
        return exchange.json(200, await schema.migrate(change, admin));
      },
      async DELETE(exchange, admin) {
        const change = removalOf(exchange.param("name"));
        if (isDryRun(exchange)) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
        await schema.drop(change, admin);
        return exchange.empty();
      },
    },
    "/api/admin/collections/:name/try": {
      async POST(exchange, admin) {
        const name = exchange.param("name");
        // An unknown name is refused before the body is read.
        schema.get(name);
        const body = await readAdminBody(exchange);
        return exchange.json(200, trialBody(await trials.try(name, body, waiterOf(exchange, admin))));
      },
    },
    "/api/admin/dropped": { GET: (exchange) => answerPageOf(exchange, schema.dropped()) },
    "/api/admin/dropped/:id/restore": {
      POST: async (exchange, admin) => exchange.json(200, await schema.restore(exchange.param("id"), admin)),
    },
    "/api/admin/schema.json": {
      GET(exchange) {
        const { schema: all, fingerprint } = schema.schema();
        return exchange.json(200, all, { ETag: `"${fingerprint}"` });
      },
      async PUT(exchange, admin) {
        const dryRun = dryRunOf(exchange, ["true", "false", "files"]);
        const body = await readAdminBody(exchange);
        const seen = expected(exchange.request);
        const { changes, fingerprint } =
          dryRun === "files"
            ? await schema.planFiles(body, waiterOf(exchange, admin))
            : dryRun === "true"
              ? await schema.planSchema(body, seen, waiterOf(exchange, admin))
              : await schema.updateSchema(body, seen, admin);
        return exchange.json(200, { changes }, { ETag: `"${fingerprint}"` });
      },
    },
  };
}

/** Whether a change is only planned. @throws AppError `bad_request` for another value than true and false. */
function isDryRun(exchange: Exchange): boolean {
  return dryRunOf(exchange, ["true", "false"]) === "true";
}

function dryRunOf(exchange: Exchange, choices: readonly string[]): string {
  const text = exchange.query("dryRun");
  return text === null ? "false" : readChoice("dryRun", text, choices);
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
