/** The searched fields of a definition: fields are added, removed and renamed with existing records. */
import { expect, test } from "bun:test";
import type { MigrationPlan } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

const fields = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "n", type: "integer" },
];
const api = await openApi({ collections: [] });
const admin = await api.admin();

async function find(collection: string, search: string): Promise<object[]> {
  const answer = await api.request<{ items: object[] }>("GET", `/api/${collection}?search=${search}`, { token: admin });
  expect([search, answer.status]).toEqual([search, 200]);
  return answer.body.items;
}

const put = (body: object, query = "") =>
  api.request<{ changes?: MigrationPlan[]; steps?: MigrationPlan["steps"] }>(
    "PUT",
    `/api/admin/collections/moving${query}`,
    { body, token: admin },
  );
const search = async (text: string): Promise<number> =>
  (await api.request("GET", `/api/moving?search=${text}`)).status === 200 ? (await find("moving", text)).length : -1;

test("there and back: existing records are searched, renames and drops are followed", async () => {
  await api.request("POST", "/api/admin/collections", { body: { name: "moving", fields }, token: admin });
  await api.request("POST", "/api/moving", { body: { title: "old words", body: "of the body" } });
  expect(await search("old")).toBe(-1);
  const dry = await put({ search: ["title"] }, "?dryRun=true");
  expect(JSON.stringify(dry.body)).toContain('{"step":"search","fields":["title"],"records":1}');
  expect(await search("old")).toBe(-1);
  expect((await put({ search: ["title"] })).status).toBe(200);
  expect([await search("old"), await search("body")]).toEqual([1, 0]);
  // A rename keeps the words, and the search goes on.
  expect(
    (await put({ fields: [{ name: "name", type: "string", renamedFrom: "title" }, ...fields.slice(1)] })).status,
  ).toBe(200);
  await api.request("POST", "/api/moving", { body: { name: "new words" } });
  expect([await search("old"), await search("new"), await search("words")]).toEqual([1, 1, 2]);
  expect((await put({ search: ["body", "name"] })).status).toBe(200);
  expect([await search("old"), await search("body")]).toEqual([1, 1]);
  // As many fields, but others; a field that begins anew under the name of a removed field.
  expect((await put({ search: ["body"] })).status).toBe(200);
  expect((await put({ search: ["name"] })).status).toBe(200);
  expect([await search("old"), await search("body")]).toEqual([1, 0]);
  const [, body = {}, n = {}] = fields;
  const anew = [{ name: "name", type: "string", renamedFrom: null }, { ...body, renamedFrom: null }, n];
  const before = await find("moving", "old");
  expect(
    (
      await put({
        fields: [{ name: "first", type: "string", renamedFrom: "name" }, ...anew.slice(0, 1), body, n],
        search: ["name"],
      })
    ).status,
  ).toBe(200);
  expect([before.length, await search("old")]).toEqual([1, 0]);
  expect(
    (
      await put({
        fields: [{ name: "name", type: "string", renamedFrom: "first" }, body, n],
        search: ["body", "name"],
      })
    ).status,
  ).toBe(200);
  expect([await search("old"), await search("body")]).toEqual([1, 1]);
  // A searched field can be dropped only together with the search.
  const [, ...others] = fields;
  expect((await put({ fields: others })).status).toBe(400);
  expect((await put({ fields: others, search: ["name"] })).status).toBe(400);
  expect((await put({ fields: others, search: ["body"] })).status).toBe(200);
  expect([await search("old"), await search("body")]).toEqual([0, 1]);
  await api.request("POST", "/api/moving", { body: { body: "fresh" } });
  expect(await search("fresh")).toBe(1);
  expect((await put({ search: null })).status).toBe(200);
  expect(await search("fresh")).toBe(-1);
  expect((await api.request("POST", "/api/moving", { body: { body: "later" } })).status).toBe(201);
  expect((await put({ search: ["body"] })).status).toBe(200);
  expect(await search("later")).toBe(1);
  expect((await api.request("DELETE", "/api/admin/collections/moving", { token: admin })).status).toBe(204);
  const left = api.service.database.rows.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE name LIKE '%moving%'",
  );
  expect(left).toEqual([]);
});

test.each<[unknown, string]>([
  ["title", "must be an array"],
  [[1], "must be an array"],
  [["titel"], "is no field"],
  [["n"], "of type integer"],
  [["title", "title"], "twice"],
  [["id"], "is no field"],
])("search %p is refused", async (value, message) => {
  const answer = await api.request("POST", "/api/admin/collections", {
    body: { name: "bad", fields, search: value },
    token: admin,
  });
  expect([answer.status, String(answer.body["error"]?.["message"])]).toEqual([400, expect.stringContaining(message)]);
});

test("fields of names that FTS5 reserves", async () => {
  const odd = ["rank", "rowid", "oid", "c1", "select"].map((name) => ({ name, type: "string" }));
  const made = await api.request("POST", "/api/admin/collections", {
    body: { name: "odd", fields: odd, search: odd.map(({ name }) => name) },
    token: admin,
  });
  expect(made.status).toBe(201);
  await api.request("POST", "/api/odd", {
    body: { rank: "one", rowid: "two", oid: "three", c1: "four", select: "five" },
  });
  for (const word of ["one", "two", "three", "four", "five"]) expect((await find("odd", word)).length).toBe(1);
});
