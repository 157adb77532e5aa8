/** Descriptions of the routes of records. In schemas and summaries, `:collection` stands for the name of the collection. */
import {
  constant,
  type DescribedRoutes,
  integer,
  json,
  jsonBody,
  noContent,
  parameter,
  ref,
} from "../../openapi/index.ts";
import { idempotencyKey } from "./batch-described.ts";

const selection = {
  fields: parameter("Names and paths, separated by commas: the answer has these fields alone."),
  expand: parameter("Relations, separated by commas: the answer has the records in expand."),
};

const ifMatch = { "If-Match": parameter("The version that the record must have, from ETag.") };

export const recordsDescribed: DescribedRoutes = {
  tag: "Records",
  routes: {
    "/api/:collection": {
      GET: {
        summary: "List records of :collection",
        description: "Without parameters, all records, newest first.",
        access: "rules",
        operation: "read",
        query: {
          filter: parameter('An expression: status = "open" && points > 3.'),
          sort: parameter("Names and paths, separated by commas; - before a name sorts in descending order."),
          limit: parameter("Records of a page; 1,000 by default.", { type: "integer", minimum: 1, maximum: 1_000 }),
          cursor: parameter("The nextCursor of the page before."),
          offset: parameter("Records that are left out.", { ...integer, minimum: 0 }),
          count: parameter("Asks for total.", constant("exact")),
          ...selection,
          search: parameter('Words that the searched fields have: word begin* "two words".'),
          snippet: parameter("Searched fields: the answer has the text around the matches, as HTML."),
          group: parameter("Names and paths, separated by commas: the answer has groups. createdAt:month has a unit."),
          aggregate: parameter("count, sum(points), avg(points), min(points), max(points)."),
        },
        answers: {
          200: json(ref(":collection.list"), "The records.", ["ETag"]),
          304: noContent("The client has the list."),
        },
      },
      POST: {
        summary: "Create a record of :collection",
        access: "rules",
        operation: "create",
        headers: idempotencyKey,
        body: jsonBody(ref(":collection.create")),
        answers: { 201: json(ref(":collection.record"), "The record.", ["ETag"]) },
        errors: [404, 409],
      },
    },
    "/api/:collection/:id": {
      GET: {
        summary: "Read a record of :collection",
        access: "rules",
        operation: "read",
        query: selection,
        answers: {
          200: json(ref(":collection.record"), "The record.", ["ETag"]),
          304: noContent("The client has the record."),
        },
      },
      PUT: {
        summary: "Change a record of :collection",
        description: "An absent field stays, null clears.",
        access: "rules",
        operation: "update",
        headers: ifMatch,
        body: jsonBody(ref(":collection.update")),
        answers: { 200: json(ref(":collection.record"), "The record.", ["ETag"]) },
        errors: [409, 412],
      },
      DELETE: {
        summary: "Delete a record of :collection",
        access: "rules",
        operation: "delete",
        headers: ifMatch,
        answers: { 204: noContent() },
        errors: [400, 409, 412],
      },
    },
  },
};
