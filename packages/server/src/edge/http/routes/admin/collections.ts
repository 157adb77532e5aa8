/** `/api/admin/collections` and `/api/admin/schema.json`: definitions, and migrations by changed definitions. */
import type { JsonValue, Operation, RuleTrial } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import { type Admin, additionOf, changeOf, removalOf, type TrialOutcome } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import { statusOf } from "../../headers.ts";
import { admins as access, answer, noContent, parameter, type Routes, route, unchecked } from "../../route.ts";
import { dryRunOf, isDryRun } from "./dry-run.ts";
import { listRoute, pageRoute, waiterOf } from "./paging.ts";

const keys = true;
const dryRuns = ["true", "false", "files"] as const;
const dryRun = { dryRun: parameter("Answers the plan, and changes nothing.", wire.enumOf(["true", "false"])) };
const nameOf = (exchange: Exchange): string => exchange.param("name");

export function collectionRoutes(api: { admin: Admin }): Routes {
  /** An unknown name is refused before the body is read. */
  const find = (exchange: Exchange): void => api.admin.schema.refuseMissing(nameOf(exchange));
  return {
    "/api/admin/collections": {
      GET: pageRoute({
        summary: "The collections",
        item: wire.collectionEntry,
        keys,
        find: (page) => api.admin.schema.list(page),
      }),
      POST: route({
        summary: "Make a collection",
        access,
        keys,
        query: dryRun,
        // A wrong parameter is refused before the body is read, as an unknown name.
        find: isDryRun,
        body: unchecked(wire.collectionDefinition),
        answers: { 200: answer(wire.migrationPlan, "The plan."), 201: answer(wire.collectionEntry) },
        errors: [409],
        async handle(exchange, admin, body) {
          const { schema } = api.admin;
          const isDry = isDryRun(exchange);
          const change = additionOf(body);
          if (isDry) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
          return exchange.json(201, await schema.migrate(change, admin));
        },
      }),
    },
    "/api/admin/collections/:name/trash": {
      DELETE: route({
        summary: "Empty the trash of a collection",
        description: "The deleted records are gone for good.",
        access,
        keys,
        answers: { 200: answer(wire.object({ removed: wire.count }), "The number of records.") },
        errors: [404],
        async handle(exchange, admin) {
          return { removed: await api.admin.emptyTrash(nameOf(exchange), admin) };
        },
      }),
    },
    "/api/admin/collections/:name": {
      GET: route({
        summary: "A collection",
        access,
        keys,
        answers: { 200: wire.collectionEntry },
        handle: (exchange) => api.admin.schema.get(nameOf(exchange)),
      }),
      PUT: route({
        summary: "Change a collection, with a migration",
        access,
        keys,
        query: dryRun,
        find(exchange) {
          find(exchange);
          isDryRun(exchange);
        },
        body: unchecked(wire.changedDefinition),
        answers: { 200: wire.either(wire.collectionEntry, wire.migrationPlan) },
        errors: [409],
        handle(exchange, admin, body) {
          const { schema } = api.admin;
          const isDry = isDryRun(exchange);
          const change = changeOf(nameOf(exchange), body);
          return isDry ? schema.plan(change, waiterOf(exchange, admin)) : schema.migrate(change, admin);
        },
      }),
      DELETE: route({
        summary: "Delete a collection with its records",
        access,
        keys,
        query: dryRun,
        answers: { 200: answer(wire.migrationPlan, "The plan."), 204: noContent() },
        errors: [409],
        async handle(exchange, admin) {
          const { schema } = api.admin;
          const change = removalOf(nameOf(exchange));
          if (isDryRun(exchange)) return exchange.json(200, await schema.plan(change, waiterOf(exchange, admin)));
          await schema.drop(change, admin);
          return exchange.empty();
        },
      }),
    },
    "/api/admin/collections/:name/explain": {
      GET: route({
        summary: "The plan of a list, and the index that would help",
        access,
        keys,
        query: { filter: parameter("An expression."), sort: parameter("Fields."), search: parameter("Words.") },
        answers: { 200: wire.listPlan },
        handle: (exchange, admin) => api.admin.explain(nameOf(exchange), exchange.search, waiterOf(exchange, admin)),
      }),
    },
    "/api/admin/collections/:name/try": {
      POST: route({
        summary: "Try an operation as another caller, or a definition before it is saved",
        access,
        keys,
        find: (exchange) => api.admin.schema.get(nameOf(exchange)),
        body: unchecked(wire.either(wire.ruleTrialRequest, wire.ruleEffectsRequest)),
        answers: { 200: wire.either(wire.ruleTrial, wire.ruleEffects) },
        errors: [409],
        async handle(exchange, admin, body) {
          const { trials } = api.admin;
          const [name, waiter] = [nameOf(exchange), waiterOf(exchange, admin)];
          if ("definition" in body) return trials.effects(name, body, waiter);
          return trialBody(await trials.try(name, body, waiter));
        },
      }),
    },
    "/api/admin/collections/:name/view-as": {
      POST: route({
        summary: "Read a list or a record as another caller",
        description: "Answers what the caller would get, and notes the look in the audit. Changes no record.",
        access,
        find: (exchange) => api.admin.schema.get(nameOf(exchange)),
        body: unchecked(wire.viewAsRequest),
        answers: { 200: wire.ruleTrial },
        async handle(exchange, admin, body) {
          return trialBody(await api.admin.trials.look(nameOf(exchange), body, waiterOf(exchange, admin)));
        },
      }),
    },
    "/api/admin/dropped": {
      GET: listRoute({
        summary: "The dropped values that can be restored",
        item: wire.droppedEntry,
        all: () => api.admin.schema.dropped(),
      }),
    },
    "/api/admin/dropped/:id/restore": {
      POST: route({
        summary: "Bring dropped values back, with a migration",
        access,
        answers: { 200: wire.restoredValues },
        errors: [400],
        handle: (exchange, admin) => api.admin.schema.restore(exchange.param("id"), admin),
      }),
    },
    "/api/admin/schema.json": {
      GET: route({
        summary: "All definitions",
        access,
        keys,
        answers: { 200: answer(wire.schema, "Done.", ["ETag"]) },
        handle(exchange) {
          const { schema: all, fingerprint } = api.admin.schema.schema();
          return exchange.json(200, all, { ETag: `"${fingerprint}"` });
        },
      }),
      PUT: route({
        summary: "Change all definitions, with a migration",
        access,
        keys,
        query: {
          dryRun: parameter(
            "Answers the plan, and changes nothing. files: the plan of a start with these definition files.",
            wire.enumOf(dryRuns),
          ),
        },
        headers: { "If-Match": parameter("The fingerprint of the schema, from ETag.") },
        find: (exchange) => dryRunOf(exchange, dryRuns),
        body: unchecked(wire.changedSchema),
        answers: { 200: answer(wire.migrationPlans, "Done.", ["ETag"]) },
        errors: [409, 412],
        async handle(exchange, admin, body) {
          const { schema } = api.admin;
          const dryRun = dryRunOf(exchange, dryRuns);
          const seen = expectedOf(exchange.request);
          const { changes, fingerprint } =
            dryRun === "files"
              ? await schema.planFiles(body, waiterOf(exchange, admin))
              : dryRun === "true"
                ? await schema.planSchema(body, seen, waiterOf(exchange, admin))
                : await schema.updateSchema(body, seen, admin);
          return exchange.json(200, { changes }, { ETag: `"${fingerprint}"` });
        },
      }),
    },
  };
}

/** The fingerprints of the schema that the caller has seen (If-Match); null for any. */
function expectedOf(request: Request): string[] | null {
  const header = request.headers.get("if-match");
  if (header === null || header.trim() === "*") return null;
  // A proxy that compresses marks tags as weak.
  return header.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, "$1"));
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
