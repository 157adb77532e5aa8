/** First steps: the printed body makes a record of the collection. */
import { expect, test } from "bun:test";
import type { FieldDefinition } from "@socle/protocol";
import { openApi } from "../../test/kit.ts";
import { firstSteps } from "./first-steps.ts";

const string = { type: "string", required: true } as const;

test.each<[string, FieldDefinition[], object]>([
  ["values and a default", [{ name: "state", ...string, values: ["open", "done"], default: "done" }], {}],
  ["values", [{ name: "state", ...string, values: ["open", "done"] }], { state: "open" }],
  [
    "a default beside a title",
    [
      { name: "n", type: "integer", required: true, default: 3 },
      { name: "title", ...string },
    ],
    { title: "Hello" },
  ],
  ["items", [{ name: "tags", ...string, multiple: true, min: 1, max: 1 }], { tags: ["Hello"] }],
  ["items with values", [{ name: "tags", ...string, multiple: true, values: ["a", "b"] }], { tags: ["a"] }],
  [
    "a sequence",
    [
      { name: "number", type: "integer", sequence: true },
      { name: "title", type: "text" },
    ],
    { title: "Hello" },
  ],
])("for a collection with %s", async (_, fields, body) => {
  const api = await openApi({
    collections: [{ name: "posts", fields, permissions: { create: "public", read: "public" } }],
  });
  const steps = firstSteps(api.service, "http://localhost", api.config);
  expect(steps).toContain(
    `curl -s http://localhost/api/posts -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`,
  );
  expect((await api.request("POST", "/api/posts", { body })).status).toBe(201);
});
