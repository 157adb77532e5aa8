/** Stored files for admins: search, visibility, and the records that use a file. */
import { describe, expect, test } from "bun:test";
import type { EventEntry, FileUse, Page, StoredFile } from "@socle/protocol";
import { openFiles } from "../../../test/files.ts";
import { identifier } from "../../store/database/index.ts";

const { adminToken, get, other, owner, request, service, store, token } = await openFiles();

async function list(query: string): Promise<[names: string[], total: number]> {
  const { status, body } = await request<Page<StoredFile>>("GET", `/api/admin/storage?${query}`, { token: adminToken });
  expect([query, status]).toEqual([query, 200]);
  return [body.items.map(({ filename }) => filename), body.total];
}

const patch = (id: string, body: unknown) => request("PATCH", `/api/admin/storage/${id}`, { body, token: adminToken });

describe("the list", async () => {
  await store("1", "Sommer.JPG", "public");
  await store("2", "winter.jpg", "protected");
  await store("3", "ÄRGER.txt", "public");
  await store("4", "100%_sure.txt", "protected");

  test.each<[query: string, names: string[], total: number]>([
    ["", ["100%_sure.txt", "ÄRGER.txt", "winter.jpg", "Sommer.JPG"], 4],
    ["search=", ["100%_sure.txt", "ÄRGER.txt", "winter.jpg", "Sommer.JPG"], 4],
    ["search=.JPG", ["winter.jpg", "Sommer.JPG"], 2],
    ["search=%C3%A4rger", ["ÄRGER.txt"], 1],
    ["search=%25_", ["100%_sure.txt"], 1],
    ["search=_", ["100%_sure.txt"], 1],
    ["search=none", [], 0],
    ["visibility=protected", ["100%_sure.txt", "winter.jpg"], 2],
    ["visibility=public&search=sommer", ["Sommer.JPG"], 1],
    [`userId=${owner.user.id}&limit=1&offset=1`, ["ÄRGER.txt"], 4],
    [`userId=${other.user.id}`, [], 0],
    ["userId=", ["100%_sure.txt", "ÄRGER.txt", "winter.jpg", "Sommer.JPG"], 4],
    ["visibility=public&limit=0", [], 2],
    ["visibility=public&offset=9", [], 2],
  ])("%s", async (query, names, total) => {
    expect(await list(query)).toEqual([names, total]);
  });

  test.each(["visibility=secret", "visibility=", "visibility=Public"])("%s is refused", async (query) => {
    const { status, body } = await request("GET", `/api/admin/storage?${query}`, { token: adminToken });
    expect([status, String(body["error"]?.["code"])]).toEqual([400, "bad_request"]);
    expect(String(body["error"]?.["message"])).toContain("public");
  });

  test("a search of many files goes on beside other requests, and finds all", async () => {
    const { database } = service;
    await database.transact((tx) =>
      tx.run(
        `INSERT INTO _files (id, filename, mimeType, size, visibility, userId, createdAt)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         SELECT 'fil_many' || i, 'Many ' || i, 'text/plain', 1, 'public', NULL, '2026-01-01T00:00:00.000Z' FROM n`,
      ),
    );
    expect(await list("search=MANY%201999&limit=2")).toEqual([["Many 19999", "Many 19998"], 11]);
    await database.transact((tx) => tx.run("DELETE FROM _files WHERE id LIKE 'fil_many%'"));
  });
});

test("a single file: its metadata, or 404", async () => {
  const id = await store("x", "one.txt");
  const { status, body } = await request<StoredFile>("GET", `/api/admin/storage/${id}`, { token: adminToken });
  expect([status, body.filename]).toEqual([200, "one.txt"]);
  expect(await service.storage.find(id)).toEqual(body);
  for (const path of ["/fil_none", "/fil_none/records", "/upload"]) {
    const missing = await request("GET", `/api/admin/storage${path}`, { token: adminToken });
    expect([path, missing.status, String(missing.body["error"]?.["code"])]).toEqual([path, 404, "not_found"]);
  }
});

describe("visibility", () => {
  test("a file that becomes protected is closed to everybody, with any cached link or token", async () => {
    const id = await store("secret text", "was-public.txt", "public");
    const before = await get(id);
    expect([before.status, before.headers.get("cache-control")]).toEqual([200, "public, no-cache"]);
    const tag = { "If-None-Match": before.headers.get("etag") ?? "" };
    expect((await get(id, tag)).status).toBe(304);
    const { status, body } = await patch(id, { visibility: "protected" });
    expect([status, body as unknown]).toEqual([200, { ...(await service.storage.find(id)) }]);
    for (const headers of [{}, tag, { Range: "bytes=0-3" }]) {
      const refused = await get(id, headers);
      expect([refused.status, refused.headers.get("etag")]).toEqual([401, null]);
      const stranger = await get(id, { ...headers, Authorization: `Bearer ${other.accessToken}` });
      expect([stranger.status, stranger.headers.get("etag")]).toEqual([403, null]);
    }
    const own = await get(id, { ...tag, Authorization: `Bearer ${token}` });
    expect([own.status, own.headers.get("cache-control")]).toEqual([304, "private, no-cache"]);
    expect((await patch(id, { visibility: "public" })).status).toBe(200);
    expect((await get(id)).status).toBe(200);
  });

  test("each change is in the audit, once; an update without a change is not", async () => {
    const id = await store("x", "audited.txt", "public");
    for (const visibility of ["public", "protected", "protected"])
      expect((await patch(id, { visibility })).status).toBe(200);
    const { body } = await request<Page<EventEntry>>("GET", "/api/admin/events?type=admin.file.*&limit=1", {
      token: adminToken,
    });
    const file = await service.storage.find(id);
    expect(body.items[0]?.payload).toMatchObject({
      target: id,
      before: { ...file, visibility: "public" },
      after: file,
    });
    const all = await service.events.read(0, 100_000);
    expect(all.filter(({ payload }) => payload["target"] === id)).toHaveLength(1);
  });

  test.each<[name: string, body: unknown, message: string]>([
    ["nothing", {}, "it is missing"],
    ["another word", { visibility: "secret" }, 'not "secret"'],
    ["no text", { visibility: true }, "not true"],
    ["another member", { visibility: "public", filename: "x" }, '"filename" cannot be set here; allowed: visibility'],
    ["no object", [], "object"],
  ])("a body with %s is refused and changes nothing", async (_name, body, message) => {
    const id = await store("x", "kept.txt", "protected");
    const answer = await patch(id, body);
    expect([answer.status, String(answer.body["error"]?.["code"])]).toEqual([400, "bad_request"]);
    expect(String(answer.body["error"]?.["message"])).toContain(message);
    expect((await service.storage.find(id))?.visibility).toBe("protected");
  });

  test("a missing file is 404 before the body is read", async () => {
    expect((await patch("fil_none", "{")).status).toBe(404);
  });
});

describe("the records that use a file", async () => {
  const { adminToken, request, service, store, token } = await openFiles();
  const uses = async (id: string, query = "") =>
    request<Page<FileUse>>("GET", `/api/admin/storage/${id}/records${query}`, { token: adminToken });
  const definition = {
    name: "albums",
    fields: [
      { name: "cover", type: "file", unique: true },
      { name: "back", type: "file" },
      { name: "note", type: "string" },
    ],
  };
  await request("POST", "/api/admin/collections", { token: adminToken, body: definition });
  const create = async (collection: string, body: object): Promise<string> =>
    String((await request("POST", `/api/${collection}`, { body })).body["id"]);
  const [used, unused] = [await store("a", "used.txt"), await store("b", "unused.txt")];
  const first = await create("posts", { title: used, image: used });
  const second = await create("posts", { image: used });
  const album = await create("albums", { cover: used, back: used, note: used });
  await create("posts", { title: unused });
  await create("albums", { note: unused });
  const all: FileUse[] = [
    { collection: "albums", field: "cover", id: album },
    { collection: "albums", field: "back", id: album },
    { collection: "posts", field: "image", id: second },
    { collection: "posts", field: "image", id: first },
  ];

  test.each<[query: string, from: number, to: number]>([
    ["", 0, 4],
    ["?limit=2", 0, 2],
    ["?limit=2&offset=1", 1, 3],
    ["?offset=2", 2, 4],
    ["?limit=2&offset=3", 3, 4],
    ["?offset=4", 4, 4],
    ["?limit=0", 0, 0],
  ])("in every collection, in pages: %s", async (query, from, to) => {
    const { status, body } = await uses(used, query);
    expect([status, body.items, body.total]).toEqual([200, all.slice(from, to), 4]);
  });

  test("no record, if the id stands in other fields only", async () => {
    expect((await uses(unused)).body).toMatchObject({ items: [], total: 0 });
  });

  test("among many records, found on a thread, also while fields come and go", async () => {
    const table = identifier(service.records.collection("posts").table);
    await service.database.transact((tx) =>
      tx.run(
        `INSERT INTO ${table} (id, createdAt, updatedAt, title)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         SELECT 'rec_many' || i, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'many' FROM n`,
      ),
    );
    const change = (fields: object[]) =>
      request("PUT", "/api/admin/collections/albums", { token: adminToken, body: { fields } });
    const fields = service.records.collection("albums").definition.fields;
    const answers = await Promise.all([
      uses(used),
      change([...fields, { name: "extra", type: "file" }]),
      uses(used),
      uses(used),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await uses(used)).body.items).toEqual(all);
    // A field that is gone is not looked at.
    expect((await change(fields.filter(({ name }) => name !== "back"))).status).toBe(200);
    expect((await uses(used)).body.total).toBe(3);
  });

  test("a file that is deleted is 404", async () => {
    await request("DELETE", `/api/storage/${unused}`, { token });
    expect((await uses(unused)).status).toBe(404);
  });
});
