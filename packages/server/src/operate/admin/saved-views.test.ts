/** Saved views: kept for all admins, bounded, audited, and gone or renamed with their collection. */
import { expect, test } from "bun:test";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const posts = { name: "posts", fields: [{ name: "title", type: "string" }], permissions: { read: "public" } };
const open = () => openApi({ collections: [posts], settings: { SERVICE_LIMITS_SAVED_VIEWS: "2" } });
const content = {
  filter: 'title = "a"',
  sort: "-createdAt",
  columns: { order: ["title"], hidden: ["id"], widths: { title: 120 } },
};

async function world() {
  const { request, admin, register, service } = await open();
  const token = await admin();
  const send = (method: string, view: string, body?: object, as: string | null = token) =>
    request(method, `/api/admin/collections/posts/saved-views/${encodeURIComponent(view)}`, {
      ...(as !== null && { token: as }),
      ...(body !== undefined && { body }),
    });
  const names = async (collection = "posts"): Promise<unknown> => {
    const { status, body } = await request("GET", `/api/admin/collections/${collection}/saved-views`, { token });
    return status === 200 && Array.isArray(body["items"]) ? body["items"].map(({ name }) => name) : status;
  };
  return { request, token, register, service, send, names };
}

test("a view is answered as saved, replaced under its name, deleted, and each change is in the audit", async () => {
  const { send, names, service } = await world();
  const seq = await lastSeq(service);
  const saved = await send("PUT", "Open & new", content);
  expect<unknown>([saved.status, saved.body]).toEqual([
    200,
    { ...content, name: "Open & new", updatedAt: expect.any(String) },
  ]);
  expect((await send("PUT", "Open & new", { search: "x" })).body).not.toHaveProperty("filter");
  expect(await names()).toEqual(["Open & new"]);
  expect((await send("DELETE", "Open & new")).status).toBe(204);
  expect((await send("DELETE", "Open & new")).status).toBe(404);
  expect(await names()).toEqual([]);
  const types = (await eventsSince(service, seq)).map(({ type }) => type);
  expect(types).toEqual(["admin.savedView.saved", "admin.savedView.saved", "admin.savedView.deleted"]);
});

test("the number, the name and the size are bounded; other members, other callers and other collections are refused", async () => {
  const { send, names, register, request, token } = await world();
  for (const view of ["a", "b"]) expect((await send("PUT", view, {})).status).toBe(200);
  expect((await send("PUT", "c", {})).status).toBe(409);
  expect((await send("PUT", "b", content)).status).toBe(200);
  for (const view of [" a", "x".repeat(81), "a\nb"]) expect((await send("PUT", view, {})).status).toBe(400);
  expect((await send("PUT", "a", { filter: "x".repeat(16_384) })).status).toBe(400);
  for (const body of [{ more: 1 }, { filter: 1 }, { columns: { order: [1], hidden: [], widths: {} } }])
    expect((await send("PUT", "a", body)).status).toBe(400);
  const user = await register("user@example.com");
  expect((await send("PUT", "a", {}, user.accessToken)).status).toBe(403);
  expect((await send("DELETE", "a", undefined, null)).status).toBe(401);
  expect(await names()).toEqual(["a", "b"]);
  expect(await names("others")).toBe(404);
  expect((await request("PUT", "/api/admin/collections/others/saved-views/a", { token, body: {} })).status).toBe(404);
});

test("the views follow a rename of the collection, stay after the loss of a field, and go with the collection", async () => {
  const { send, names, request, token } = await world();
  await send("PUT", "a", content);
  const path = "/api/admin/collections/posts";
  expect((await request("PUT", path, { token, body: { fields: [] } })).status).toBe(200);
  expect(await names()).toEqual(["a"]);
  await request("PUT", path, { token, body: { name: "articles", renamedFrom: "posts" } });
  expect([await names(), await names("articles")]).toEqual([404, ["a"]]);
  await request("DELETE", "/api/admin/collections/articles", { token });
  await request("POST", "/api/admin/collections", { token, body: { ...posts, name: "articles" } });
  expect(await names("articles")).toEqual([]);
});
