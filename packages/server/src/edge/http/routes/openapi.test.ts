/** `GET /api/openapi.json`: the routes and methods of the document, the readers, and the changes that a migration makes. */
// Promises: D1.
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../../test/keys.ts";
import { openApi, setRole } from "../../../../test/kit.ts";
import type { ServiceDocument } from "../../../../test/openapi.ts";
import { openDescribedService } from "../../../../test/openapi-world.ts";
import { openRouter } from "../api-router.ts";
import { LiveStreams } from "../live-streams.ts";

const path = "/api/openapi.json";

const api = await openApi({
  settings: { SERVICE_OPENAPI_PUBLIC: "true" },
  collections: [
    {
      name: "posts",
      search: ["title", "hint"],
      trash: "30d",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "hint", type: "string", permissions: { read: "admin" } },
        { name: "mine", type: "string", permissions: { read: "owner" } },
        { name: "open", type: "string", permissions: { read: 'title = "open"' } },
        { name: "fixed", type: "string", permissions: { update: "admin" } },
        { name: "pointer", type: "relation", collection: "secrets" },
        { name: "author", type: "relation", collection: "users", owner: true },
      ],
      permissions: { read: "public", create: "authenticated", delete: "admin" },
    },
    { name: "drafts", fields: [{ name: "text", type: "text" }], permissions: { read: "owner" } },
    { name: "secrets", fields: [{ name: "word", type: "string" }], permissions: { read: "admin" } },
    {
      name: "letters",
      fields: [{ name: "text", type: "text" }],
      permissions: { read: "admin", create: "public", update: "admin" },
    },
  ],
});
const admin = await api.admin();
const member = (await api.register("ann@example.com")).accessToken;

async function documentFor(token?: string): Promise<ServiceDocument> {
  const answer = await api.request<ServiceDocument>("GET", path, token === undefined ? {} : { token });
  expect(answer.status).toBe(200);
  return answer.body;
}

function operationsOf({ paths }: ServiceDocument): string[] {
  return Object.entries(paths).flatMap(([at, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${at}`),
  );
}

function propertiesOf({ components }: ServiceDocument, name: string): string[] {
  return Object.keys(Object(components.schemas[name]?.["properties"]));
}

test("every route and method of the router is in the document, and the other way round", async () => {
  const { api: described, check, admin: caller } = await openDescribedService();
  const router = openRouter(described.parts, {
    liveStreams: new LiveStreams(described.service.auth),
    upgrade: () => false,
    keepOpen: () => undefined,
    listenUrl: () => "http://localhost",
    addressOf: () => "test",
  });
  const ofRouter: string[] = [];
  for (const route of Object.keys(router.native())) {
    // Below the prefix, the files of endpoints decide.
    if (route.startsWith("/api/function")) continue;
    const names = route.includes(":collection") ? ["posts"] : [""];
    for (const name of names) {
      const own = route.replace(":collection", name);
      const { headers } = await described.request("OPTIONS", own.replaceAll(/:\w+/g, "x"), caller);
      const methods = (headers.get("allow") ?? "").split(", ").filter((each) => !["HEAD", "OPTIONS"].includes(each));
      ofRouter.push(...methods.map((method) => `${method} ${own.replaceAll(/:(\w+)/g, "{$1}")}`));
    }
  }
  expect(ofRouter.length).toBeGreaterThan(100);
  const ofUsers = ["GET /api/users", "GET /api/users/{id}", "PUT /api/users/{id}", "GET /api/users/export"];
  ofUsers.push("GET /api/users/{id}/history", "DELETE /api/users/{id}/history", "POST /api/users/query");
  const ofEndpoints = ["GET /api/function/orders/{id}", "POST /api/function/orders/{id}"];
  expect(check.operations.sort()).toEqual([...ofRouter, ...ofUsers, ...ofEndpoints].sort());
});

describe("by default, the document is for admins", () => {
  test("401 without a token, 403 for others, 200 and 304 for admins and for keys of admins", async () => {
    const closed = await openApi({});
    const token = await closed.admin();
    const other = await closed.register("bob@example.com");
    expect((await closed.request("GET", path)).status).toBe(401);
    expect((await closed.request("GET", path, { token: other.accessToken })).status).toBe(403);
    const answer = await closed.request("GET", path, { token });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "private, no-cache"]);
    const headers = { "If-None-Match": answer.headers.get("etag") ?? "" };
    expect((await closed.request("GET", path, { token, headers })).status).toBe(304);
    const { key } = await makeKey(closed, { token, scopes: ["admin"] });
    expect((await closed.request("GET", path, { token: key })).status).toBe(200);
    const weak = await makeKey(closed, { token, scopes: ["*:read"] });
    expect((await closed.request("GET", path, { token: weak.key })).status).toBe(403);
  });
});

describe("with openapi.public, a reader sees the operations that callers like the reader may reach", () => {
  test("anybody: neither collections nor operations nor fields that need a token, and no admin API", async () => {
    const document = await documentFor();
    const text = JSON.stringify(document);
    for (const hidden of ["drafts", "secrets", "hint", "mine", "api/admin", "/metrics"])
      expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
    const ofRecords = operationsOf(document).filter((each) => /\/api\/(posts|letters)/.test(each));
    expect(ofRecords).toEqual(["POST /api/letters", "GET /api/posts", "POST /api/posts/query", "GET /api/posts/{id}"]);
    expect(propertiesOf(document, "posts.record")).toEqual([
      ...["id", "createdAt", "updatedAt", "title", "open", "fixed", "pointer", "author", "expand", "snippet"],
    ]);
    expect(operationsOf(document)).toContain("POST /api/auth/login");
    // The answer to a letter is what the sender has sent.
    expect(document.components.schemas["letters.record"]?.["required"]).toEqual(["id", "createdAt", "updatedAt"]);
  });

  test("users: the operations of a signed-in user, and no owner to set", async () => {
    const document = await documentFor(member);
    expect(JSON.stringify(document)).not.toContain("secrets");
    expect(propertiesOf(document, "posts.record")).toContain("mine");
    expect(propertiesOf(document, "posts.record")).not.toContain("hint");
    expect(propertiesOf(document, "posts.create")).toEqual(["title", "mine", "open", "pointer"]);
    expect(operationsOf(document).filter((each) => /\/(drafts|posts)/.test(each))).toEqual([
      ...[
        "GET /api/drafts",
        "POST /api/drafts",
        "POST /api/drafts/query",
        "GET /api/drafts/{id}",
        "PUT /api/drafts/{id}",
        "DELETE /api/drafts/{id}",
      ],
      ...["GET /api/posts", "POST /api/posts", "POST /api/posts/query", "GET /api/posts/{id}", "PUT /api/posts/{id}"],
    ]);
  });

  test("keys: the operations within the scopes; admins: everything", async () => {
    const key = await makeKey(api, { token: member, scopes: ["drafts:read"] });
    const document = await documentFor(key.key);
    expect(operationsOf(document).filter((each) => /\/(drafts|posts|letters)/.test(each))).toEqual([
      "GET /api/drafts",
      "POST /api/drafts/query",
      "GET /api/drafts/{id}",
    ]);
    const whole = await documentFor(admin);
    expect(propertiesOf(whole, "posts.create")).toEqual([
      "title",
      "hint",
      "mine",
      "open",
      "fixed",
      "pointer",
      "author",
    ]);
    expect(operationsOf(whole)).toContain("PUT /api/secrets/{id}");
    // A demotion counts at once.
    const other = await api.register("was@example.com");
    await setRole(api.service, other.user.id, "admin");
    expect(operationsOf(await documentFor(other.accessToken))).toContain("PUT /api/secrets/{id}");
    await setRole(api.service, other.user.id, "authenticated");
    expect(operationsOf(await documentFor(other.accessToken))).not.toContain("PUT /api/secrets/{id}");
  });

  test("a token that is not valid is 401", async () => {
    expect((await api.request("GET", path, { token: "wrong" })).status).toBe(401);
  });
});

test("a migration changes the document, and the tag", async () => {
  const before = await api.request("GET", path, { token: admin });
  const fields = [
    { name: "name", type: "string", renamedFrom: "word" },
    { name: "size", type: "integer", min: 1 },
  ];
  const changed = await api.request("PUT", "/api/admin/collections/secrets", { token: admin, body: { fields } });
  expect(changed.status).toBe(200);
  const after = await api.request<ServiceDocument>("GET", path, { token: admin });
  expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
  expect(propertiesOf(after.body, "secrets.create")).toEqual(["name", "size"]);
  expect((await api.request("DELETE", "/api/admin/collections/drafts", { token: admin })).status).toBe(204);
  expect(operationsOf(await documentFor(admin)).filter((each) => each.includes("drafts"))).toEqual([]);
});

test("each status has a single schema of errors, with its codes, and no discriminator", async () => {
  const document = await documentFor(admin);
  const errors = Object.entries(document.components.schemas).filter(([name]) => name.startsWith("Error4"));
  const codes = errors.map(([name, schema]) => [name, Object(schema)["properties"].error.properties.code.enum]);
  expect(Object.fromEntries(codes)).toMatchObject({
    Error400: ["validation_error", "bad_request"],
    Error401: ["unauthorized"],
    Error404: ["not_found"],
    Error409: ["conflict"],
    Error412: ["conflict", "bad_request"],
    Error429: ["rate_limited"],
  });
  expect(JSON.stringify(document)).not.toContain("discriminator");
});

test("the schemas of endpoints are in the document, and follow a change of the file", async () => {
  const { api: described, admin: caller } = await openDescribedService();
  const operation = async () => {
    const { body } = await described.request<ServiceDocument>("GET", path, caller);
    return body.paths["/api/function/orders/{id}"];
  };
  const before = await operation();
  expect(before?.["post"]).toMatchObject({
    security: [{}, { bearer: [] }],
    parameters: [
      { name: "id", in: "path" },
      { name: "size", in: "query", schema: { type: "string" } },
    ],
    requestBody: { content: { "application/json": { schema: { properties: { amount: { type: "integer" } } } } } },
    responses: { 200: { content: { "application/json": { schema: { required: ["sum"] } } } } },
  });
  expect(before?.["get"]).toMatchObject({ security: [{ bearer: [] }], responses: { "200": {}, default: {} } });
  await described.save({ "endpoints/orders/[id].ts": "export const PUT = () => new Response();" });
  expect(Object.keys((await operation()) ?? {})).toEqual(["put"]);
});
