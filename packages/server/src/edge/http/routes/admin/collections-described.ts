/** Descriptions of the admin routes of collections and of the schema. */
import { type DescribedRoutes, enumOf, json, jsonBody, noContent, ref } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

const dryRun = { dryRun: { schema: enumOf(["true", "false"]), description: "Answers the plan, and changes nothing." } };
const ifMatch = {
  "If-Match": { schema: { type: "string" }, description: "The fingerprint of the schema, from ETag." },
};

export const collectionsDescribed: DescribedRoutes = {
  tag: "Admin: collections",
  routes: {
    "/api/admin/collections": {
      GET: paging("The collections", "CollectionEntry"),
      POST: {
        summary: "Make a collection",
        access: "admin",
        query: dryRun,
        body: jsonBody(ref("CollectionDefinition")),
        answers: { 200: json(ref("MigrationPlan"), "The plan."), 201: json(ref("CollectionEntry")) },
        errors: [409],
      },
    },
    "/api/admin/collections/:name": {
      GET: { summary: "A collection", access: "admin", answers: { 200: json(ref("CollectionEntry")) } },
      PUT: {
        summary: "Change a collection, with a migration",
        access: "admin",
        query: dryRun,
        body: jsonBody(ref("ChangedDefinition")),
        answers: { 200: json({ anyOf: [ref("CollectionEntry"), ref("MigrationPlan")] }) },
        errors: [409],
      },
      DELETE: {
        summary: "Delete a collection with its records",
        access: "admin",
        query: dryRun,
        answers: { 200: json(ref("MigrationPlan"), "The plan."), 204: noContent() },
        errors: [409],
      },
    },
    "/api/admin/collections/:name/try": {
      POST: {
        summary: "Try an operation as another caller",
        access: "admin",
        body: jsonBody(ref("RuleTrialRequest")),
        answers: { 200: json(ref("RuleTrial")) },
      },
    },
    "/api/admin/dropped": { GET: paging("The dropped values that can be restored", "DroppedEntry") },
    "/api/admin/dropped/:id/restore": {
      POST: {
        summary: "Bring dropped values back, with a migration",
        access: "admin",
        answers: { 200: json(ref("RestoredValues")) },
        errors: [400],
      },
    },
    "/api/admin/schema.json": {
      GET: { summary: "All definitions", access: "admin", answers: { 200: json(ref("Schema"), "Done.", ["ETag"]) } },
      PUT: {
        summary: "Change all definitions, with a migration",
        access: "admin",
        query: {
          dryRun: {
            schema: enumOf(["true", "false", "files"]),
            description:
              "Answers the plan, and changes nothing. files: the plan of a start with these definition files.",
          },
        },
        headers: ifMatch,
        body: jsonBody(ref("ChangedSchema")),
        answers: { 200: json(ref("MigrationPlans"), "Done.", ["ETag"]) },
        errors: [409, 412],
      },
    },
  },
};
