/** Types and examples of schemas, and the address and the example for curl of a request. */
import { describe, expect, test } from "bun:test";
import { groupsOf, type Operation, operationsOf } from "./operations.ts";
import { addressOf, curlOf, missingOf } from "./request.ts";
import { exampleOf, type Schemas, typeText } from "./schema-text.ts";

const schemas: Schemas = {
  Part: {
    type: "object",
    properties: { name: { type: "string" }, parts: { type: "array", items: { $ref: "#/x/Part" } } },
  },
  Post: {
    type: "object",
    required: ["title", "status"],
    properties: {
      title: { type: "string" },
      status: { type: "string", enum: ["todo", "done"] },
      at: { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }] },
      tags: { type: "array", items: { type: ["string", "null"] } },
      extra: {},
    },
  },
};

describe("a type as text", () => {
  test("names members, marks optional members, and joins alternatives", () => {
    expect(typeText({ $ref: "#/components/schemas/Post" }, schemas)).toBe(
      `{
  title: string
  status: "todo" | "done"
  at?: string (date-time) | null
  tags?: (string | null)[]
  extra?: any
}`,
    );
  });

  test("ends, also for a type that contains itself", () => {
    const text = typeText({ $ref: "#/x/Part" }, schemas);
    expect(text).toContain("parts?: Part[]");
    expect(text.length).toBeLessThan(500);
    expect(exampleOf({ $ref: "#/x/Part" }, schemas)).toMatchObject({ name: "", parts: [{ name: "" }] });
  });

  test("an example has the required members", () => {
    expect(exampleOf({ $ref: "#/x/Post" }, schemas)).toEqual({ title: "", status: "todo" });
  });
});

const operation: Operation = {
  id: "updatePostsById",
  group: "Records: posts",
  method: "PUT",
  path: "/api/posts/{id}",
  summary: "Change a record",
  description: null,
  isOpen: false,
  parameters: [
    { name: "id", in: "path", required: true, schema: { type: "string" } },
    { name: "dryRun", in: "query", schema: { type: "string" } },
    { name: "If-Match", in: "header", schema: { type: "string" } },
  ],
  body: { type: "application/json", schema: {}, isRequired: true },
  answers: [],
};

test("a request has its values in their places, and nothing for empty values", () => {
  const values = {
    parameters: { "path id": "a/b", "query dryRun": "", "header If-Match": '"x"' },
    body: `{"name":"it's"}`,
  };
  expect(addressOf(operation, values)).toBe("/api/posts/a%2Fb");
  expect(missingOf(operation, { ...values, parameters: {} })).toEqual(["id"]);
  expect(curlOf(operation, values, "http://localhost:8080").split(" \\\n  ")).toEqual([
    "curl -X PUT 'http://localhost:8080/api/posts/a%2Fb'",
    '-H "Authorization: Bearer $TOKEN"',
    `-H 'If-Match: "x"'`,
    "-H 'Content-Type: application/json'",
    String.raw`-d '{"name":"it'\''s"}'`,
  ]);
});

test("operations are read from a document, and found by all words", () => {
  const operations = operationsOf({
    paths: {
      "/api/posts": {
        get: {
          operationId: "listPosts",
          tags: ["Records: posts"],
          summary: "List",
          security: [{}, { bearer: [] }],
          responses: {
            200: { description: "The list", content: {} },
            400: { $ref: "#/components/responses/Error400" },
          },
        },
      },
    },
    components: { schemas: {}, responses: { Error400: { description: "Bad" } } },
  });
  expect(operations).toMatchObject([
    {
      id: "listPosts",
      method: "GET",
      isOpen: true,
      body: null,
      answers: [
        { status: "200", meaning: "The list", body: null },
        { status: "400", meaning: "Bad" },
      ],
    },
  ]);
  expect(groupsOf(operations, "posts get").map(([group]) => group)).toEqual(["Records: posts"]);
  expect(groupsOf(operations, "posts put")).toEqual([]);
});
