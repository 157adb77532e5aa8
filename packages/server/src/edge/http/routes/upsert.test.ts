/** Tests of `PUT /api/{collection}?by=FIELD`: the record that the body finds, the rule that decides, and the answers that tell nothing of others' records. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../../test/keys.ts";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../../test/kit.ts";

const own = "author = @user.id";
const fields = [
  { name: "slug", type: "string", unique: true, max: 20 },
  { name: "title", type: "string", required: true },
  { name: "views", type: "integer", default: 10 },
  { name: "tags", type: "string", multiple: true },
  { name: "kind", type: "string", unique: true, values: ["b", "a", "c"] },
  { name: "code", type: "integer", unique: true },
  { name: "secret", type: "string", unique: true, permissions: { read: "admin", update: "authenticated" } },
  { name: "note", type: "string", unique: true, permissions: { read: own, update: "authenticated" } },
  { name: "number", type: "integer", sequence: true },
  { name: "isOpen", type: "boolean" },
  { name: "author", type: "relation", collection: "users", owner: true },
];
const open = { read: "public", create: "public", update: "public" };
const api = await openApi({
  collections: [
    { name: "posts", fields, permissions: open },
    { name: "plain", fields: [{ name: "title", type: "string" }], permissions: open },
    { name: "hidden", fields, permissions: { read: `isOpen = true || ${own}`, create: "authenticated", update: own } },
    { name: "closed", fields, permissions: { read: own, create: "admin", update: own } },
    { name: "words", fields, permissions: { read: "owner", create: "authenticated", update: "authenticated" } },
    { name: "ruled", fields, permissions: { read: "public", create: 'title != "no"', update: 'title != "never"' } },
    { name: "owned", fields, permissions: { read: "public", create: "authenticated", update: "owner" } },
    { name: "fixed", fields, permissions: { read: "public", create: "authenticated", update: "admin" } },
    { name: "judged", fields, permissions: { read: own, create: 'title = "yes"', update: own } },
    { name: "users", fields: [{ name: "name", type: "string", unique: true }] },
  ],
});
const { request, service, register } = api;
const root = await api.admin();
const { accessToken: ann } = await register("ann@example.com");
const { accessToken: bob } = await register("bob@example.com");

interface Sent {
  readonly by?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}
function upsert(
  collection: string,
  body: unknown,
  { by = "slug", token = ann, headers = {} }: Sent = {},
): Promise<Answer> {
  return request("PUT", `/api/${collection}?by=${by}`, { body, headers, ...(token !== "" && { token }) });
}
const errorOf = ({ status, body: { error } }: Answer): unknown[] => [status, error?.["code"], error?.["message"]];
const rulesOf = ({ status, body }: Answer): unknown => [
  status,
  ((body["error"]?.["details"] ?? []) as unknown as { field: string; rule: string }[]).map(
    ({ field, rule }) => `${field} ${rule}`,
  ),
];
const all = async (collection: string): Promise<Record<string, unknown>[]> =>
  (await request<{ items: Record<string, unknown>[] }>("GET", `/api/${collection}`, { token: root })).body.items;
let slugs = 0;
const newSlug = (): string => `slug-${++slugs}`;

describe("the record that a body finds", () => {
  test("is made, then changed: 201 and 200, with ETag and one event each", async () => {
    const slug = newSlug();
    const seq = await lastSeq(service);
    const made = await upsert("posts", { slug, title: "one" });
    const changed = await upsert("posts", { slug, title: "two" });
    expect([made.status, changed.status]).toEqual([201, 200]);
    expect(changed.body).toEqual({ ...made.body, title: "two", updatedAt: changed.body["updatedAt"] } as never);
    const read = await request("GET", `/api/posts/${changed.body["id"]}`, { token: ann });
    expect([read.body, read.headers.get("etag")]).toEqual([changed.body, changed.headers.get("etag")]);
    expect(made.headers.get("etag")).not.toBe(changed.headers.get("etag"));
    expect((await eventsSince(service, seq)).map(({ type }) => type)).toEqual(["posts.created", "posts.updated"]);
  });

  test.each([
    ["kind", "a"],
    ["code", 7],
  ])("by the type of %s", async (by, value) => {
    const made = await upsert("posts", { [by]: value, title: "typed" }, { by });
    expect([made.status, (await upsert("posts", { [by]: value, title: "again" }, { by })).body["id"]]).toEqual([
      201,
      made.body["id"] as never,
    ]);
  });

  test("an update keeps the fields that the body does not name, and needs no required field", async () => {
    const slug = newSlug();
    await upsert("posts", { slug, title: "kept", tags: ["a"] });
    const changed = await upsert("posts", { slug, views: 3 });
    expect([changed.status, changed.body["title"], changed.body["tags"]]).toEqual([200, "kept", ["a"]] as never);
  });

  test("another unique value that is taken is 400, and changes nothing", async () => {
    const [first, second] = [newSlug(), newSlug()];
    await upsert("posts", { slug: first, title: "x", code: 90 });
    await upsert("posts", { slug: second, title: "x" });
    const before = await all("posts");
    expect(rulesOf(await upsert("posts", { slug: second, code: 90 }))).toEqual([400, ["code unique"]]);
    expect(rulesOf(await upsert("posts", { slug: newSlug(), title: "x", code: 90 }))).toEqual([400, ["code unique"]]);
    expect(await all("posts")).toEqual(before);
  });

  test("callers at once end with a single record, whatever they send", async () => {
    for (let round = 0; round < 20; round += 1) {
      const slug = newSlug();
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) => upsert("posts", { slug, title: `t${n}`, views: { $increment: 1 } })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
      const found = (await all("posts")).filter((record) => record["slug"] === slug);
      expect(found.map(({ views }) => views)).toEqual([18]);
    }
  });
});

describe("operators", () => {
  test("start from the stored value in an update, and from the default in a create", async () => {
    const body = { slug: newSlug(), title: "x", views: { $increment: 5 }, tags: { $add: ["a"], $remove: ["b"] } };
    const made = await upsert("posts", body);
    const changed = await upsert("posts", { ...body, tags: { $add: ["b"], $remove: ["a"] } });
    expect([made.body["views"], made.body["tags"]]).toEqual([15, ["a"]] as never);
    expect([changed.body["views"], changed.body["tags"]]).toEqual([20, ["b"]] as never);
  });

  test("start from 0 without a default, and are checked as in an update", async () => {
    expect((await upsert("posts", { slug: newSlug(), title: "x", code: { $increment: 41 } })).body["code"]).toBe(
      41 as never,
    );
    for (const value of [{ $increment: "1" }, { $multiply: 2 }, {}])
      expect(rulesOf(await upsert("posts", { slug: newSlug(), title: "x", views: value }))).toEqual([
        400,
        ["views type"],
      ]);
  });

  test("are no value by which a record is found, and no part of a plain create", async () => {
    expect(rulesOf(await upsert("posts", { code: { $increment: 1 }, title: "x" }, { by: "code" }))).toEqual([
      400,
      ["code type"],
    ]);
    const plain = await request("POST", "/api/posts", { body: { title: "x", views: { $increment: 1 } }, token: ann });
    expect(rulesOf(plain)).toEqual([400, ["views type"]]);
  });
});

describe("a bad request", () => {
  test.each([
    ["title", '"by" must be a unique field: slug, kind, code or note; not "title".'],
    ["id", '"by" must be a unique field: slug, kind, code or note; not "id".'],
    ["", '"by" must be a unique field: slug, kind, code or note; not "".'],
    ["number", '"by" must be a unique field: slug, kind, code or note; not "number".'],
    ["secret", '"by" must be a unique field: slug, kind, code or note; not "secret".'],
    ["nothing", '"by" must be a unique field: slug, kind, code or note; not "nothing".'],
  ])("by %p is 400", async (by, message) => {
    expect(errorOf(await upsert("posts", { slug: "s", title: "x" }, { by }))).toEqual([400, "bad_request", message]);
  });

  test("a collection without unique fields is named", async () => {
    expect(errorOf(await upsert("plain", { title: "x" }))).toEqual([
      400,
      "bad_request",
      '"by" must be a unique field, and "plain" has no such field; not "slug".',
    ]);
  });

  test.each([[{ title: "x" }], [{ slug: null, title: "x" }], [{ slug: undefined, title: "x" }]])(
    "a body without the value is 400: %p",
    async (body) => {
      const before = await all("posts");
      expect(rulesOf(await upsert("posts", body))).toEqual([400, ["slug required"]]);
      expect(await all("posts")).toEqual(before);
    },
  );

  test.each([[5], [["a"]], ["x".repeat(21)]])("a value that the field does not take is 400: %p", async (slug) => {
    expect((await upsert("posts", { slug, title: "x" })).status).toBe(400);
  });

  test("without by, PUT is 405 before anything else is looked at; by twice is 400", async () => {
    const none = await request("PUT", "/api/posts", { body: {}, token: "no token" });
    expect([none.status, none.headers.get("allow")]).toEqual([405, "GET, HEAD, POST, OPTIONS"]);
    expect((await request("PUT", "/api/posts?by=slug&by=code", { body: {}, token: ann })).status).toBe(400);
    expect((await request("OPTIONS", "/api/posts?by=slug")).headers.get("allow")).toContain("PUT");
  });

  test("an unknown collection is 404, a body that is no JSON object 400", async () => {
    expect((await upsert("nothing", {})).status).toBe(404);
    const plain = { "Content-Type": "text/plain" };
    expect((await upsert("posts", "{}", { headers: plain })).status).toBe(400);
    expect((await upsert("posts", "{")).status).toBe(400);
    expect((await upsert("posts", [])).status).toBe(400);
  });

  test("users are created by a registration: 405, also for an own record and for admins", async () => {
    await request("PUT", `/api/users/${(await request("GET", "/api/auth/me", { token: ann })).body["user"]?.["id"]}`, {
      body: { name: "Ann" },
      token: ann,
    });
    for (const token of [ann, root]) {
      expect((await upsert("users", { name: "Ann" }, { by: "name", token })).status).toBe(405);
      expect((await upsert("users", { email: "ann@example.com" }, { by: "email", token })).status).toBe(405);
    }
  });
});

describe("the version", () => {
  test("If-Match holds for the found record; without a record, no version matches", async () => {
    const slug = newSlug();
    const made = await upsert("posts", { slug, title: "one" });
    const etag = made.headers.get("etag") ?? "";
    const changed = await upsert("posts", { slug, title: "two" }, { headers: { "If-Match": etag } });
    const late = await upsert("posts", { slug, title: "three" }, { headers: { "If-Match": etag } });
    const none = await upsert("posts", { slug: newSlug(), title: "x" }, { headers: { "If-Match": "*" } });
    expect([changed.status, late.status, none.status]).toEqual([200, 412, 412]);
    expect((await all("posts")).filter((record) => record["slug"] === slug)).toMatchObject([{ title: "two" }]);
  });
});

describe("Idempotency-Key", () => {
  test("an upsert is made once, and its answer is given again, as a create and as an update", async () => {
    const body = { slug: newSlug(), title: "x", views: { $increment: 1 } };
    for (const [key, status, views] of [
      ["upsert-1", 201, 11],
      ["upsert-2", 200, 12],
    ] as const) {
      const first = await upsert("posts", body, { headers: { "Idempotency-Key": key } });
      const second = await upsert("posts", body, { headers: { "Idempotency-Key": key } });
      expect([first.status, first.body["views"]]).toEqual([status, views] as never);
      expect([second.status, second.body, second.headers.get("etag")]).toEqual([
        status,
        first.body,
        first.headers.get("etag"),
      ]);
      expect(second.headers.get("idempotency-replayed")).toBe("true");
    }
    const other = await upsert("posts", { ...body, title: "y" }, { headers: { "Idempotency-Key": "upsert-1" } });
    expect(other.status).toBe(400);
  });
});

describe("the rule of what an upsert becomes", () => {
  test("a create needs the create rule, an update the update rule before and after", async () => {
    const slug = newSlug();
    expect((await upsert("ruled", { slug, title: "no" })).status).toBe(403);
    expect((await upsert("ruled", { slug, title: "yes" })).status).toBe(201);
    expect((await upsert("ruled", { slug, title: "no" })).status).toBe(200);
    expect((await upsert("ruled", { slug, title: "never" })).status).toBe(403);
    expect((await all("ruled")).map(({ title }) => title)).toEqual(["no"]);
  });

  test("a match that the caller may read and not change is 403, and stays", async () => {
    const slug = newSlug();
    await upsert("hidden", { slug, title: "ann's", isOpen: true });
    const refused = await upsert("hidden", { slug, title: "bob's" }, { token: bob });
    expect(errorOf(refused)).toEqual([403, "forbidden", 'You may not update this record of "hidden".']);
    expect((await upsert("hidden", { slug, title: "x" }, { token: "" })).status).toBe(401);
    expect((await all("hidden")).filter((record) => record["slug"] === slug)).toMatchObject([{ title: "ann's" }]);
  });

  test.each(["owned", "fixed"])(
    "the create rule of %s lets nobody change the record of another user",
    async (collection) => {
      const slug = newSlug();
      expect((await upsert(collection, { slug, title: "ann's" })).status).toBe(201);
      expect((await upsert(collection, { slug, title: "bob's" }, { token: bob })).status).toBe(403);
      expect((await upsert(collection, { slug, title: "again" })).status).toBe(collection === "owned" ? 200 : 403);
      expect((await all(collection))[0]).toMatchObject({ title: collection === "owned" ? "again" : "ann's" });
    },
  );

  test("a match that an expression hides is 404 without the id of the record, and stays", async () => {
    const slug = newSlug();
    const { body } = await upsert("hidden", { slug, title: "ann's" });
    const refused = await upsert("hidden", { slug, title: "bob's" }, { token: bob });
    expect(errorOf(refused)).toEqual([
      404,
      "not_found",
      'There is no record with this slug in "hidden" that you may change.',
    ]);
    expect(JSON.stringify(refused.body)).not.toContain(String(body["id"]));
    expect((await all("hidden")).filter((record) => record["slug"] === slug)).toMatchObject([{ title: "ann's" }]);
  });

  test("a word that keeps a record from its reader keeps the record from an upsert, though every user may update by id", async () => {
    const slug = newSlug();
    await upsert("words", { slug, title: "ann's" });
    expect((await upsert("words", { slug, title: "bob's" }, { token: bob })).status).toBe(404);
    expect((await all("words")).map(({ title }) => title)).toEqual(["ann's"]);
    expect((await upsert("words", { slug, title: "again" })).status).toBe(200);
  });

  test("a value that the caller may not read in the found record finds no record", async () => {
    const note = newSlug();
    const { body } = await upsert("posts", { note, title: "ann's" }, { by: "note" });
    const refused = await upsert("posts", { note, title: "bob's" }, { by: "note", token: bob });
    expect(errorOf(refused)).toEqual([
      404,
      "not_found",
      'There is no record with this note in "posts" that you may change.',
    ]);
    expect(JSON.stringify(refused.body)).not.toContain(String(body["id"]));
  });

  test("a caller who may not create is told the same of a hidden record and of no record", async () => {
    const taken = newSlug();
    expect((await upsert("closed", { slug: taken, title: "root's" }, { token: root })).status).toBe(201);
    const plain = (answer: Answer): unknown => [errorOf(answer), answer.body["error"]?.["details"]];
    for (const [body, headers] of [
      [{ title: "x" }, {}],
      [{}, {}],
      [{ title: 5, nothing: 1 }, {}],
      [{ title: "x" }, { "If-Match": "*" }],
      [{ title: "x" }, { "Idempotency-Key": "oracle" }],
    ] as const)
      for (const token of [bob, ""]) {
        const key = headers["Idempotency-Key"];
        const keyed = (n: number) => (key === undefined ? headers : { "Idempotency-Key": `${key}-${n}` });
        const of = (slug: string, n: number) =>
          upsert("closed", { ...body, slug }, { token, headers: keyed(n) as Record<string, string> });
        expect(plain(await of(taken, 1))).toEqual(plain(await of(newSlug(), 2)));
      }
  });

  test("a create rule that does not hold for the body is the refusal of a hidden match, too", async () => {
    const taken = newSlug();
    expect((await upsert("judged", { slug: taken, title: "yes" })).status).toBe(201);
    for (const slug of [taken, newSlug()])
      expect(errorOf(await upsert("judged", { slug, title: "no" }, { token: bob }))).toEqual([
        403,
        "forbidden",
        'You may not create this record of "judged".',
      ]);
    expect((await upsert("judged", { slug: taken, title: "yes" }, { token: bob })).status).toBe(404);
  });

  test("an API key with the scope to write changes and makes records, and reads no more than a write tells", async () => {
    const slug = newSlug();
    const { key } = await makeKey(api, { token: ann, scopes: ["hidden:write"] });
    const { key: reading } = await makeKey(api, { token: ann, scopes: ["hidden:read"] });
    expect((await upsert("hidden", { slug, title: "one" }, { token: reading })).status).toBe(403);
    const made = await upsert("hidden", { slug, title: "one", code: 77 }, { token: key });
    const changed = await upsert("hidden", { slug, title: "two" }, { token: key });
    expect([made.status, changed.status]).toEqual([201, 200]);
    expect(Object.keys(changed.body).sort()).toEqual(["createdAt", "id", "slug", "title", "updatedAt"]);
    const foreign = newSlug();
    await upsert("hidden", { slug: foreign, title: "bob's" }, { token: bob });
    expect((await upsert("hidden", { slug: foreign, title: "x" }, { token: key })).status).toBe(404);
  });
});

describe("batches", () => {
  const batch = (operations: unknown[], token = ann): Promise<Answer> =>
    request("POST", "/api/batch", { body: { operations }, token });

  test("upserts have a place in a batch, and later operations point to their records", async () => {
    const slug = newSlug();
    const one = { method: "upsert", collection: "posts", by: "slug", body: { slug, title: "one" } };
    const two = { ...one, body: { slug, title: "two", views: { $increment: 1 } } };
    const done = await batch([one, two, { method: "update", collection: "posts", id: { $ref: 0 }, body: { code: 5 } }]);
    expect(done.body["results"]).toMatchObject([
      { status: 201, body: { title: "one" } },
      { status: 200, body: { title: "two", views: 11 } },
      { status: 200, body: { title: "two", code: 5 } },
    ] as never);
  });

  test("the problems of upserts name the operation", async () => {
    const bad = { method: "upsert", collection: "posts", body: { title: "x" } };
    expect(rulesOf(await batch([bad, { ...bad, by: 5 }, { ...bad, by: "slug", id: "x" }]))).toEqual([
      400,
      ["by required", "by type", "id unknown"],
    ]);
    const refused = await batch([{ ...bad, by: "title" }]);
    expect([refused.status, refused.body["error"]?.["details"]]).toMatchObject([
      400,
      [{ operation: 0, field: "by", rule: "refused" }],
    ] as never);
  });
});
