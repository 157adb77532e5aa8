/** The definition of users: the completed definition, the refusals, and migrations of a database that has users already. */
import { expect, test } from "bun:test";
import type { CollectionDefinition, MigrationPlan, StoredRecord } from "@socle/protocol";
import { openApi, type TestApi, temporaryFolder } from "../../../test/kit.ts";
import { recordTableOf } from "../records/index.ts";
import { parseDefinition } from "./index.ts";

const account = [
  { name: "email", type: "string", required: true, permissions: { read: "owner" } },
  {
    name: "role",
    type: "string",
    required: true,
    values: ["admin", "authenticated", "public"],
    permissions: { read: "owner" },
  },
  { name: "verified", type: "boolean", required: true, permissions: { read: "owner" } },
];
const bio = { name: "bio", type: "text" };

test("the account fields come first, with the default rules, and the completed definition stays the same", async () => {
  const { definition } = parseDefinition({ name: "users", fields: [bio] });
  expect(definition).toMatchObject({
    name: "users",
    permissions: { read: "owner", update: "owner" },
    fields: [...account, bio],
  });
  expect(parseDefinition(definition).definition).toEqual(definition);
  const entry = { name: "email", permissions: { read: "public" } };
  const given = { name: "users", permissions: { read: "public" }, fields: [bio, entry] };
  const open = parseDefinition(given).definition;
  expect(open.permissions).toEqual({ read: "public", update: "owner" });
  expect(open.fields.map(({ name }) => name)).toEqual(["email", "role", "verified", "bio"]);
  expect(open.fields[0]?.permissions).toEqual({ read: "public" });
});

const users = (...fields: unknown[]): object => ({ name: "users", fields });
const refused: readonly [object, RegExp][] = [
  [{ name: "Users", fields: [] }, /"Users" is a reserved collection name/],
  [{ ...users(), renamedFrom: "people" }, /no collection can be renamed to "users"/],
  [{ ...users(), permissions: { create: "public" } }, /"create" means nothing for "users"; allowed: read, update/],
  [{ ...users(), permissions: { delete: "admin" } }, /"delete" means nothing for "users"/],
  [{ ...users(), permissions: "owner" }, /"permissions" must be an object/],
  [users({ name: "email", unique: true }), /field "email": "unique" cannot be true: the field follows the account/],
  [users({ name: "email", type: "text" }), /field "email": "type" cannot be "text"/],
  [users({ name: "role", permissions: { update: "owner" } }), /field "role": permissions: "update" means nothing/],
  [users({ name: "role", permissions: { read: "nobody" } }), /field "role": permissions: "read" must be/],
  [users({ name: "email" }, { name: "email" }), /field "email"|"email" is defined twice/],
  [users({ name: "Email", type: "string" }), /fields "email" and "Email" differ only in case/],
  [users({ name: "password", type: "string" }), /the name is taken: a registration has a "password"/],
  [users({ name: "mail", type: "string", renamedFrom: "email" }), /"renamedFrom": "email" follows the account/],
  [users({ name: "me", type: "relation", collection: "users", owner: true }), /"owner" means nothing here/],
  [
    users({ name: "team", type: "relation", collection: "teams", onDelete: "cascade" }),
    /"onDelete" cannot be "cascade": users are deleted as accounts; allowed: restrict, clear/,
  ],
  [{ name: "users", fields: "x" }, /"fields" must be an array/],
];

test.each(refused)("%j is refused", async (definition, message) => {
  expect(() => parseDefinition(definition)).toThrow(message);
});

/** A service on a database with two users, that was there before the definition. */
async function openUsed(): Promise<{ open: (...definitions: object[]) => Promise<TestApi> }> {
  const folder = temporaryFolder();
  const open = (...collections: object[]): Promise<TestApi> => openApi({ folder, collections });
  const first = await open();
  for (const name of ["ann", "ben"]) await first.register(`${name}@example.com`);
  await first.close();
  return { open };
}

async function list(api: TestApi, token: string, query = "sort=createdAt"): Promise<StoredRecord[]> {
  const { body } = await api.request<{ items: StoredRecord[] }>("GET", `/api/users?${query}`, { token });
  return body.items.filter(({ email }) => email !== "admin@example.com");
}

test("a first definition takes the users of the database over, with defaults, numbers, items and words", async () => {
  const { open } = await openUsed();
  const api = await open({
    ...users(
      { name: "name", type: "string", required: true, default: "somebody" },
      { name: "number", type: "integer", sequence: true },
      { name: "tags", type: "string", multiple: true },
      { name: "level", type: "string", values: ["low", "high"] },
    ),
    search: ["name"],
  });
  const ann = api.service.auth.users.findByEmail("ann@example.com");
  const token = await api.admin();
  const records = await list(api, token);
  expect(records).toMatchObject([
    { email: "ann@example.com", name: "somebody", number: 1, tags: [], level: null, role: "authenticated" },
    { email: "ben@example.com", name: "somebody", number: 2, tags: [], verified: false },
  ]);
  expect(records[0]).toMatchObject({ id: ann?.id, createdAt: ann?.createdAt, updatedAt: ann?.createdAt });
  expect((await list(api, token, "search=somebody")).length).toBe(2);
  const { accessToken } = await api.login("ann@example.com");
  const put = await api.request("PUT", `/api/users/${ann?.id}`, {
    token: accessToken,
    body: { tags: ["x"], level: "high" },
  });
  expect(put.status).toBe(200);
  expect((await list(api, token, "filter=tags='y'")).length).toBe(0);
  expect((await list(api, token, "filter=tags='x'%26%26level='high'")).map(({ email }) => email)).toEqual([
    "ann@example.com",
  ]);
});

test("users without a value refuse a required field, as records do, and nothing is changed", async () => {
  const { open } = await openUsed();
  const required = users({ name: "name", type: "string", required: true });
  await expect(open(required)).rejects.toThrow(
    /00\.json: field "name" cannot be required: it is new and 2 records have no value in it \(usr_/,
  );
  const unique = {
    ...users({ name: "a", type: "integer", required: true, default: 1 }),
    indexes: [{ fields: ["a"], unique: true }],
  };
  await expect(open(unique)).rejects.toThrow(/field "a" cannot be unique: 2 records have a value that another has too/);
  const api = await openApi({ collections: [required] });
  expect(api.service.collections.get("users")?.definition.fields.length).toBe(4);
});

test("fields are added, renamed and dropped, and the definition is deleted without the users", async () => {
  const { open } = await openUsed();
  const api = await open(users({ name: "name", type: "string" }), {
    name: "posts",
    fields: [{ name: "author", type: "relation", collection: "users" }],
  });
  const token = await api.admin();
  const [ann] = await list(api, token);
  const path = "/api/admin/collections/users";
  await api.request("PUT", `/api/users/${ann?.id}`, { token, body: { name: "Ann" } });
  const { body: entry } = await api.request<{ definition: CollectionDefinition }>("GET", path, { token });
  const fields = [...entry.definition.fields.slice(0, 3), { name: "title", type: "string", renamedFrom: "name" }, bio];
  expect((await api.request("PUT", path, { token, body: { fields } })).status).toBe(200);
  expect((await list(api, token))[0]).toMatchObject({ email: "ann@example.com", title: "Ann", bio: null });
  const dry = await api.request<MigrationPlan>("PUT", `${path}?dryRun=true`, { token, body: { fields: [bio] } });
  expect(dry.body).toMatchObject({
    action: "update",
    steps: [{ step: "drop", field: "title", records: 1 }],
    records: 3,
  });
  const rule = { permissions: { read: "author.title = @user.id" } };
  expect((await api.request("PUT", "/api/admin/collections/posts", { token, body: rule })).status).toBe(200);
  const refusal = await api.request<{ error: { message: string } }>("DELETE", path, { token });
  expect([refusal.status, refusal.body.error.message]).toEqual([400, expect.stringContaining('collection "posts"')]);
  const opened = { permissions: { read: "public" } };
  await api.request("PUT", "/api/admin/collections/posts", { token, body: opened });
  expect((await api.request("DELETE", path, { token })).status).toBe(204);
  expect((await api.request("GET", "/api/users", { token })).status).toBe(404);
  expect((await api.login("ann@example.com")).user.id).toBe(ann?.id ?? "");
  await api.register("cay@example.com");
  const again = await api.request("PUT", path, { token, body: { fields: [bio] } });
  expect(again.status).toBe(200);
  expect((await list(api, token)).map(({ email }) => email)).toEqual([
    "ann@example.com",
    "ben@example.com",
    "cay@example.com",
  ]);
  expect(Object.keys((await list(api, token))[0] ?? {})).not.toContain("title");
});

test("an index finds the own record of a list", async () => {
  const api = await openApi({ collections: [users(bio)] });
  const sql = recordTableOf(api.service.records.collection("users")).firstPage(true, 65);
  const plan = api.service.database.reader.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, "usr_1");
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^SEARCH users USING INDEX users\._owner/)]);
});

test("users cannot be renamed, and a file of another name cannot take the place", async () => {
  const { open } = await openUsed();
  await expect(open({ name: "members", fields: [], renamedFrom: "users" })).rejects.toThrow(
    /"renamedFrom": "users": "users" cannot be renamed/,
  );
});
