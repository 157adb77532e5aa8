/** API keys and users with fields: the scopes `users:read` and `users:write`, and the accounts, which stay closed to keys. */
import { expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { type Answer, openApi } from "../../../test/kit.ts";

const api = await openApi({
  collections: [
    {
      name: "users",
      fields: [{ name: "nickname", type: "string" }],
      permissions: { read: "authenticated", update: "owner" },
    },
    {
      name: "posts",
      fields: [{ name: "author", type: "relation", collection: "users", owner: true }],
      permissions: { read: "authenticated" },
    },
  ],
});
const { request } = api;
const { accessToken: token, user } = await api.register("ann@example.com");
const bob = await api.register("bob@example.com");
const path = `/api/users/${user.id}`;
expect((await request("PUT", path, { token, body: { nickname: "Annie" } })).status).toBe(200);
expect((await request("POST", "/api/posts", { token, body: {} })).status).toBe(201);

const keyWith = async (...scopes: string[]): Promise<string> => (await makeKey(api, { token, scopes })).key;
const text = ({ bytes }: Answer): string => new TextDecoder().decode(bytes);

test("users are read with users:read alone, and the own fields are changed with users:write", async () => {
  const [read, write, none] = [
    await keyWith("users:read"),
    await keyWith("users:write"),
    await keyWith("posts:read", "posts:write"),
  ];
  for (const each of [
    "/api/users",
    path,
    '/api/users?filter=nickname="Annie"',
    "/api/users?group=nickname&aggregate=count",
  ]) {
    expect([each, (await request("GET", each, { token: read })).status]).toEqual([each, 200]);
    for (const closed of [write, none]) expect((await request("GET", each, { token: closed })).status).toBe(403);
  }
  const body = { nickname: "Ann" };
  expect((await request("PUT", path, { token: write, body })).status).toBe(200);
  for (const closed of [read, none]) expect((await request("PUT", path, { token: closed, body })).status).toBe(403);
  expect((await request("PUT", `/api/users/${bob.user.id}`, { token: write, body })).status).toBe(403);
});

test("no key makes or deletes an account, or changes credentials and addresses of an account", async () => {
  const admin = await makeKey(api, { token: await api.admin(), scopes: ["admin"] });
  const before = api.service.auth.users.find(user.id);
  for (const key of [await keyWith("*:read", "*:write"), admin.key]) {
    const account = { email: "new@example.com", password: "a good password", nickname: "x" };
    expect((await request("POST", "/api/users", { token: key, body: account })).status).toBe(405);
    expect((await request("DELETE", path, { token: key })).status).toBe(405);
    const operations = [
      { method: "create", collection: "users", body: { nickname: "x" } },
      { method: "delete", collection: "users", id: user.id },
    ];
    for (const operation of operations)
      expect((await request("POST", "/api/batch", { token: key, body: { operations: [operation] } })).status).toBe(405);
    for (const body of [{ email: "evil@example.com" }, { role: "admin" }, { verified: true }])
      await request("PUT", path, { token: key, body });
  }
  expect(api.service.auth.users.find(user.id)).toEqual(before);
  expect(api.service.auth.users.findByEmail("new@example.com")).toBeNull();
});

test("a path and an expansion to users need users:read", async () => {
  const [narrow, wide] = [await keyWith("posts:read"), await keyWith("posts:read", "users:read")];
  for (const query of [
    'filter=author.nickname="Ann"',
    "sort=author.nickname",
    "group=author.nickname&aggregate=count",
  ]) {
    expect([query, (await request("GET", `/api/posts?${query}`, { token: narrow })).status]).toEqual([query, 403]);
    expect([query, (await request("GET", `/api/posts?${query}`, { token: wide })).status]).toEqual([query, 200]);
  }
  expect(text(await request("GET", "/api/posts?expand=author", { token: narrow }))).not.toContain("Ann");
  expect(text(await request("GET", "/api/posts?expand=author", { token: wide }))).toContain("Ann");
});
