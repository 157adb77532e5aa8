/** Scopes of API keys on the routes of records, batches and files: what a scope opens, and what all other scopes leave closed. */
import { describe, expect, test } from "bun:test";
import { fileForm, formType } from "../../../test/forms.ts";
import { makeKey } from "../../../test/keys.ts";
import { type Answer, openApi } from "../../../test/kit.ts";

const definitions = [
  { name: "categories", fields: [{ name: "name", type: "string" }], permissions: { read: "public" } },
  {
    name: "posts",
    fields: [
      { name: "title", type: "string" },
      { name: "category", type: "relation", collection: "categories" },
      { name: "author", type: "relation", collection: "users", owner: true },
      { name: "cover", type: "file" },
    ],
    search: ["title"],
    permissions: { read: "authenticated", create: "authenticated", update: "owner", delete: "owner" },
  },
  {
    name: "comments",
    fields: [
      { name: "text", type: "string" },
      { name: "post", type: "relation", collection: "posts", onDelete: "cascade" },
    ],
    permissions: { read: "public" },
  },
  // A rule may look at collections for which a key has no scope.
  {
    name: "drafts",
    fields: [
      { name: "text", type: "string" },
      { name: "category", type: "relation", collection: "categories" },
    ],
    permissions: { read: 'category.name = "open"', create: "authenticated" },
  },
];
const api = await openApi({ collections: definitions, settings: { SERVICE_LIMITS_KEYS_PER_USER: "100" } });
const { request } = api;
const { accessToken: ann } = await api.register("ann@example.com");

const all = ["posts", "categories", "comments", "drafts", "users", "storage", "others"].flatMap((noun) => [
  `${noun}:read`,
  `${noun}:write`,
]);
const known = new Map<string, string>();
async function keyWith(...scopes: string[]): Promise<string> {
  const name = scopes.join();
  const found = known.get(name) ?? (await makeKey(api, { token: ann, scopes })).key;
  known.set(name, found);
  return found;
}

async function make(path: string, body: object): Promise<string> {
  const made = await request("POST", path, { token: ann, body });
  expect(made.status).toBe(201);
  return String(made.body["id"]);
}
const category = await make("/api/categories", { name: "open" });
const post = await make("/api/posts", { title: "first words", category });
await make("/api/comments", { text: "well said", post });
await make("/api/drafts", { text: "seen", category });
await make("/api/drafts", { text: "hidden", category: await make("/api/categories", { name: "closed" }) });
const upload = async (token: string): Promise<Answer> =>
  request("POST", "/api/storage/upload", { token, body: fileForm("bytes"), headers: { "Content-Type": formType } });
const fileOf = async (): Promise<string> => String((await upload(ann)).body["id"]);
const file = await fileOf();

const batch = (operation: object) => (token: string) =>
  request("POST", "/api/batch", { token, body: { operations: [{ collection: "posts", ...operation }] } });

/** Each request with the single scope that opens the request. */
const requests: [name: string, scope: string, status: number, send: (token: string) => Promise<Answer>][] = [
  ["a list", "posts:read", 200, (token) => request("GET", "/api/posts", { token })],
  ["the head of a list", "posts:read", 200, (token) => request("HEAD", "/api/posts", { token })],
  ["a public list", "comments:read", 200, (token) => request("GET", "/api/comments", { token })],
  ["a page", "posts:read", 200, (token) => request("GET", "/api/posts?limit=1&count=exact", { token })],
  ["a filter", "posts:read", 200, (token) => request("GET", '/api/posts?filter=title="a"', { token })],
  ["a search", "posts:read", 200, (token) => request("GET", "/api/posts?search=words", { token })],
  ["groups", "posts:read", 200, (token) => request("GET", "/api/posts?group=title&aggregate=count", { token })],
  ["a record", "posts:read", 200, (token) => request("GET", `/api/posts/${post}`, { token })],
  ["fields of a record", "posts:read", 200, (token) => request("GET", `/api/posts/${post}?fields=title`, { token })],
  ["a create", "posts:write", 201, (token) => request("POST", "/api/posts", { token, body: { title: "a" } })],
  ["an update", "posts:write", 200, (token) => request("PUT", `/api/posts/${post}`, { token, body: { title: "b" } })],
  ["a create in a batch", "posts:write", 200, batch({ method: "create", body: { title: "a" } })],
  ["an update in a batch", "posts:write", 200, batch({ method: "update", id: post, body: { title: "c" } })],
  ["an upload", "storage:write", 201, upload],
  ["a download", "storage:read", 200, (token) => request("GET", `/api/storage/${file}`, { token })],
  ["a link to a file", "storage:read", 200, (token) => request("POST", `/api/storage/${file}/link`, { token })],
];

describe("a scope", () => {
  test.each(requests)("%s", async (_name, scope, status, send) => {
    const [noun, access] = scope.split(":");
    expect((await send(await keyWith(scope))).status).toBe(status);
    expect((await send(await keyWith(`*:${access}`))).status).toBe(status);
    for (const scopes of [all.filter((each) => each !== scope), [`${noun}s:${access}`], ["function:/*"]]) {
      const answer = await send(await keyWith(...scopes));
      expect([scopes, answer.status]).toEqual([scopes, 403]);
      if (answer.bytes.byteLength > 0) expect(String(answer.body["error"]?.["message"])).toContain(scope);
    }
    expect((await send(await keyWith(`*:${access === "read" ? "write" : "read"}`))).status).toBe(403);
    expect((await send(ann)).status).toBe(status);
  });

  test("for writing deletes, also in a batch and with the records that follow", async () => {
    const [token, reader] = [await keyWith("posts:write"), await keyWith("*:read", "comments:write", "storage:read")];
    for (const remove of [
      (id: string, by: string) => request("DELETE", `/api/posts/${id}`, { token: by }),
      (id: string, by: string) => batch({ method: "delete", id })(by),
    ]) {
      const id = await make("/api/posts", { title: "gone" });
      const comment = await make("/api/comments", { text: "gone", post: id });
      expect((await remove(id, reader)).status).toBe(403);
      expect((await request("GET", `/api/posts/${id}`, { token: ann })).status).toBe(200);
      expect((await remove(id, token)).status).toBeOneOf([200, 204]);
      expect((await request("GET", `/api/comments/${comment}`, { token: ann })).status).toBe(404);
    }
    const id = await fileOf();
    expect((await request("DELETE", `/api/storage/${id}`, { token: reader })).status).toBe(403);
    expect((await request("DELETE", `/api/storage/${id}`, { token: await keyWith("storage:write") })).status).toBe(204);
  });

  test("missing for a single operation refuses the batch", async () => {
    const operations = [
      { method: "create", collection: "posts", body: { title: "batched" } },
      { method: "create", collection: "comments", body: { text: "batched" } },
    ];
    const body = { operations };
    expect((await request("POST", "/api/batch", { token: await keyWith("posts:write"), body })).status).toBe(403);
    const found = await request("GET", '/api/posts?filter=title="batched"', { token: ann });
    expect(found.body["items"]).toEqual([] as never);
    const both = await keyWith("posts:write", "comments:write");
    expect((await request("POST", "/api/batch", { token: both, body })).status).toBe(200);
  });

  test("for every kind leaves import and export to admins", async () => {
    const token = await keyWith(...all, "*:read", "*:write", "function:/*");
    expect((await request("GET", "/api/posts/export", { token })).status).toBe(403);
    const headers = { "Content-Type": "application/x-ndjson" };
    expect((await request("POST", "/api/posts/import", { token, body: "{}", headers })).status).toBe(403);
    expect((await request("GET", "/metrics", { token })).status).toBe(403);
  });

  test("is not needed for open resources: health and public files", async () => {
    const form = fileForm("bytes", { visibility: "public" });
    const sent = { token: ann, body: form, headers: { "Content-Type": formType } };
    const { id } = (await request<{ id: string }>("POST", "/api/storage/upload", sent)).body;
    const token = await keyWith("others:read");
    expect((await request("GET", `/api/storage/${id}`, { token })).status).toBe(200);
    expect((await request("GET", "/health", { token })).status).toBe(200);
  });
});

describe("a read scope is needed for each collection that a query reaches", () => {
  const paths: [query: string, scope: string][] = [
    ['filter=category.name="open"', "categories:read"],
    ["sort=category.name", "categories:read"],
    ["group=category.name&aggregate=count", "categories:read"],
    ['filter=comments(post).text="x"', "comments:read"],
    ['filter=author.email="x"', "users:read"],
  ];
  test.each(paths)("%s", async (query, scope) => {
    const send = async (...scopes: string[]): Promise<number> =>
      (await request("GET", `/api/posts?${query}`, { token: await keyWith(...scopes) })).status;
    // Twice: the parsed query is kept, by the scopes.
    for (let round = 0; round < 2; round++) {
      expect(await send("posts:read")).toBe(403);
      expect(await send("posts:read", scope)).toBe(200);
      expect(await send(...all.filter((each) => each !== scope))).toBe(403);
      expect((await request("GET", `/api/posts?${query}`, { token: ann })).status).toBe(200);
    }
  });

  test.each([
    ["category", "categories:read"],
    ["author", "users:read"],
  ])("expand=%s shows nothing without the scope", async (field, scope) => {
    for (const path of ["/api/posts", `/api/posts/${post}`])
      for (const scopes of [["posts:read"], ["posts:read", scope], all.filter((each) => each !== scope), ["*:read"]]) {
        const answer = await request("GET", `${path}?expand=${field}&filter=id="${post}"`, {
          token: await keyWith(...scopes),
        });
        const isOpen = scopes.includes(scope) || scopes.includes("*:read");
        expect([scopes, answer.status]).toEqual([scopes, 200]);
        const text = new TextDecoder().decode(answer.bytes);
        expect([scopes, /"name":"open"|ann@example/.test(text)]).toEqual([scopes, isOpen]);
      }
  });

  test("backward expansions, and fields beyond a relation", async () => {
    const narrow = await keyWith("posts:read");
    const answer = await request("GET", `/api/posts/${post}?expand=comments(post)`, { token: narrow });
    expect(new TextDecoder().decode(answer.bytes)).not.toContain("well said");
    const fields = await request("GET", `/api/posts/${post}?fields=category.name`, { token: narrow });
    expect(new TextDecoder().decode(fields.bytes)).not.toContain('"open"');
    const wide = await keyWith("posts:read", "comments:read");
    const open = await request("GET", `/api/posts/${post}?expand=comments(post)`, { token: wide });
    expect(new TextDecoder().decode(open.bytes)).toContain("well said");
  });

  test("a rule of the collection reads without the scopes", async () => {
    const { body } = await request<{ items: { text: string }[] }>("GET", "/api/drafts", {
      token: await keyWith("drafts:read"),
    });
    expect(body.items.map(({ text }) => text)).toEqual(["seen"]);
  });
});

describe("writing without reading", () => {
  test("returns the fields of the body only", async () => {
    const token = await keyWith("posts:write");
    const created = await request("POST", "/api/posts", { token, body: { title: "blind" } });
    expect(Object.keys(created.body).sort()).toEqual(["createdAt", "id", "title", "updatedAt"]);
    const path = `/api/posts/${String(created.body["id"])}`;
    const updated = await request("PUT", path, { token, body: { title: "blinder" } });
    expect(Object.keys(updated.body).sort()).toEqual(["createdAt", "id", "title", "updatedAt"]);
    expect((await request("GET", path, { token })).status).toBe(403);
  });

  test("points to no record for which the read scope is missing, and to any file", async () => {
    const send = async (body: object, ...scopes: string[]): Promise<[number, unknown]> => {
      const answer = await request("POST", "/api/posts", { token: await keyWith("posts:write", ...scopes), body });
      return [answer.status, answer.body["error"]?.["details"]?.[0 as never]?.["rule"]];
    };
    expect(await send({ category })).toEqual([400, "relation"]);
    expect(await send({ category }, "storage:read", "posts:read")).toEqual([400, "relation"]);
    expect(await send({ category }, "categories:read")).toEqual([201, undefined]);
    expect(await send({ cover: file })).toEqual([201, undefined]);
    expect(await send({ cover: "fil_x" })).toEqual([400, "file"]);
    expect(await send({ cover: file }, "storage:read")).toEqual([201, undefined]);
  });
});

describe("cached responses", () => {
  test("keep lists from callers without the scope, whoever asks first", async () => {
    const [open, closed] = [await keyWith("comments:read"), await keyWith("posts:read")];
    for (const path of ["/api/comments", "/api/comments?limit=5", "/api/comments?limit=5&expand=post"]) {
      const first = await request("GET", path, { token: ann });
      const headers = { "If-None-Match": first.headers.get("etag") ?? "" };
      expect((await request("GET", path, { token: closed, headers })).status).toBe(403);
      expect((await request("GET", path, { token: open })).status).toBe(200);
      expect((await request("GET", path)).status).toBe(200);
      expect((await request("GET", path, { token: closed })).status).toBe(403);
    }
    // The key was first to ask for this query, and sees no post; the user sees the posts after that.
    const path = "/api/comments?limit=6&expand=post";
    const byKey = await request("GET", path, { token: open });
    const byUser = await request("GET", path, { token: ann });
    expect(new TextDecoder().decode(byKey.bytes)).not.toContain('"title"');
    expect(new TextDecoder().decode(byUser.bytes)).toContain('"title"');
    const headers = { "If-None-Match": byUser.headers.get("etag") ?? "" };
    expect((await request("GET", path, { token: open, headers })).status).toBe(200);
  });

  test("with an Idempotency-Key belong to the key, and not to the owner", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const body = { title: "once", category };
    const byUser = await request("POST", "/api/posts", { token: ann, body, headers });
    const token = await keyWith("posts:write", "categories:read");
    const byKey = await request("POST", "/api/posts", { token, body, headers });
    expect([byUser.status, byKey.status]).toEqual([201, 201]);
    expect(byKey.headers.get("idempotency-replayed")).toBeNull();
    expect(byKey.body["id"]).not.toBe(byUser.body["id"] as never);
    const again = await request("POST", "/api/posts", { token, body, headers });
    expect([again.headers.get("idempotency-replayed"), again.body["id"]]).toEqual(["true", byKey.body["id"]]);
  });

  test("cursors of the owner's session are not the key's", async () => {
    const first = await request("GET", "/api/posts?limit=1", { token: ann });
    const path = `/api/posts?limit=1&cursor=${String(first.body["nextCursor"])}`;
    expect((await request("GET", path, { token: ann })).status).toBe(200);
    expect((await request("GET", path, { token: await keyWith("posts:read") })).status).toBe(400);
  });
});
