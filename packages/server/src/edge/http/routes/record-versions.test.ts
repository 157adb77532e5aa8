/** Versions of a record: `ETag`, `If-Match` and `If-None-Match`. */
import { expect, test } from "bun:test";
import { versionOf } from "@socle/protocol";
import { eventsSince, lastSeq, migrate, openApi } from "../../../../test/kit.ts";
import { parseDefinition } from "../../../data/collections/index.ts";

const fields = [
  { name: "title", type: "string", max: 20 },
  { name: "next", type: "relation", collection: "notes" },
];
const mine = {
  name: "mine",
  fields: [{ name: "x", type: "string" }],
  permissions: { read: "owner", create: "authenticated", update: "owner" },
};
const box = {
  name: "box",
  fields: [{ name: "x", type: "string" }],
  permissions: { read: "admin", create: "public", update: "public" },
};
const api = await openApi({ collections: [{ name: "notes", fields }, mine, box] });
const { request, service } = api;

interface Note {
  id: string;
  title: string | null;
  updatedAt: string;
}

async function note(title = "a"): Promise<{ id: string; path: string; tag: string; record: Note }> {
  const made = await request<Note>("POST", "/api/notes", { body: { title } });
  expect(made.status).toBe(201);
  const { id } = made.body;
  return { id, path: `/api/notes/${id}`, tag: made.headers.get("etag") ?? "", record: made.body };
}

const get = (path: string, tag = "") => request("GET", path, { headers: { "If-None-Match": tag } });
const put = (path: string, tag: string, body: unknown) => request("PUT", path, { body, headers: { "If-Match": tag } });

test("responses of create, read and update have the tag of the record, which changes with the record", async () => {
  const { path, tag, record } = await note();
  expect(tag).toStartWith(`"${record.id}@${record.updatedAt};`);
  const read = await get(path);
  expect(read.headers.get("etag")).toBe(tag);
  expect(read.headers.get("cache-control")).toBe("no-cache");
  const same = await put(path, tag, {});
  expect([same.status, same.headers.get("etag")]).toEqual([200, tag]);
  const changed = await put(path, tag, { title: "b" });
  const next = changed.headers.get("etag");
  expect([changed.status, next === tag]).toEqual([200, false]);
  expect((await get(path)).headers.get("etag")).toBe(next);
});

test("If-None-Match is 304 without a body while nothing has changed", async () => {
  const { path, tag } = await note();
  for (const named of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
    const answer = await get(path, named);
    expect([named, answer.status, answer.bytes.length, answer.headers.get("etag")]).toEqual([named, 304, 0, tag]);
  }
  for (const named of ['"x"', tag.slice(1, -1), versionOf({ id: "rec_x", updatedAt: "x" })])
    expect([named, (await get(path, named)).status]).toEqual([named, 200]);
  await request("PUT", path, { body: { title: "b" } });
  expect((await get(path, tag)).status).toBe(200);
  expect((await get(`/api/notes/rec_${crypto.randomUUID()}`, "*")).status).toBe(404);
});

test("a selection has a tag of its own, which changes with the expanded records", async () => {
  const target = await note("target");
  const { path, tag } = await note();
  await request("PUT", path, { body: { next: target.id } });
  const expanded = await get(`${path}?expand=next`);
  const seen = expanded.headers.get("etag") ?? "";
  expect(seen).not.toBe((await get(path)).headers.get("etag") ?? "");
  expect((await get(`${path}?expand=next`, seen)).status).toBe(304);
  expect((await get(`${path}?fields=title`, seen)).status).toBe(200);
  await request("PUT", target.path, { body: { title: "changed" } });
  expect((await get(`${path}?expand=next`, seen)).status).toBe(200);
  // The record is of the version that was seen.
  expect((await put(path, seen, { title: "b" })).status).toBe(200);
  expect((await put(path, tag, { title: "c" })).status).toBe(412);
});

test.each([
  ["the tag of the answer", (tag: string) => tag, 200],
  ["among others", (tag: string) => `"x", ${tag}`, 200],
  ["any", () => "*", 200],
  ["the version that a client makes of a record", (_: string, record: Note) => versionOf(record), 200],
  ["of another record", (tag: string) => tag.replace(/rec_[^@]*/, "rec_x"), 412],
  ["weak, as a proxy that compresses marks the tag", (tag: string) => `W/${tag}`, 200],
  ["weak, among others", (tag: string) => `"x", W/${tag},W/"y"`, 200],
  ["the version, weak", (_: string, record: Note) => `W/${versionOf(record)}`, 200],
  ["weak, of another version", (_: string, record: Note) => `W/"${record.id}@2020-01-01T00:00:00.000Z"`, 412],
  ["a mark that is none", (tag: string) => `w/${tag}`, 412],
  ["without quotes", (tag: string) => tag.slice(1, -1), 412],
  ["of nothing", () => '""', 412],
  ["a text that goes on behind the version", (_: string, record: Note) => `${versionOf(record).slice(0, -1)}x"`, 412],
])("If-Match: %s", async (_name, makeTag, status) => {
  const { path, tag, record } = await note();
  const seq = await lastSeq(service);
  const answer = await put(path, makeTag(tag, record), { title: "b" });
  expect(answer.status).toBe(status);
  if (status === 412) expect(String(answer.body["error"]?.["code"])).toBe("conflict");
  const read = await request<Note>("GET", path);
  expect(read.body.title).toBe(status === 200 ? "b" : "a");
  expect(await eventsSince(service, seq)).toHaveLength(status === 200 ? 1 : 0);
});

test("two changes of the same version: a single change succeeds, also at the same time", async () => {
  const { path, tag } = await note();
  const answers = await Promise.all(["b", "c", "d"].map((title) => put(path, tag, { title })));
  expect(answers.map(({ status }) => status)).toEqual([200, 412, 412]);
});

test("a batch, DELETE and If-None-Match take a weak tag for the tag", async () => {
  const { id, path, tag } = await note();
  expect((await get(path, `W/${tag}`)).status).toBe(304);
  const update = (ifMatch: string, title: string) =>
    request("POST", "/api/batch", {
      body: { operations: [{ method: "update", collection: "notes", id, ifMatch, body: { title } }] },
    });
  expect((await update(`W/${tag}`, "b")).status).toBe(200);
  expect((await update(`W/${tag}`, "c")).status).toBe(412);
  const now = (await get(path)).headers.get("etag") ?? "";
  const remove = (named: string) => request("DELETE", path, { headers: { "If-Match": named } });
  expect((await remove(`W/${tag}`)).status).toBe(412);
  expect((await remove(`W/${now}`)).status).toBe(204);
});

test("DELETE obeys If-Match", async () => {
  const { path, tag } = await note();
  await request("PUT", path, { body: { title: "b" } });
  const remove = (named: string) => request("DELETE", path, { headers: { "If-Match": named } });
  expect((await remove(tag)).status).toBe(412);
  const current = (await get(path)).headers.get("etag") ?? "";
  expect((await remove(current)).status).toBe(204);
  expect((await remove(current)).status).toBe(404);
});

test("a right is checked before the version, and the version before the body", async () => {
  const ann = await api.register("ann@example.com");
  const bob = await api.register("bob@example.com");
  const made = await request<Note>("POST", "/api/mine", { body: { x: "1" }, token: ann.accessToken });
  const path = `/api/mine/${made.body.id}`;
  const headers = { "If-Match": '"x"' };
  expect((await request("PUT", path, { body: {}, headers, token: bob.accessToken })).status).toBe(403);
  expect((await request("PUT", path, { body: {}, headers })).status).toBe(401);
  expect((await request("PUT", path, { body: { y: 1 }, headers, token: ann.accessToken })).status).toBe(412);
  const read = await request("GET", path, { token: ann.accessToken });
  expect(read.headers.get("cache-control")).toBe("private, no-cache");
  expect(read.headers.get("vary")).toContain("Authorization");
  // A caller without the right to read the record gets no 304 either.
  const tag = read.headers.get("etag") ?? "";
  expect((await request("GET", path, { headers: { "If-None-Match": tag }, token: bob.accessToken })).status).toBe(403);
});

test("a caller with the right to change a record, and not to read it, has its tag all the same", async () => {
  const made = await request<Note>("POST", "/api/box", { body: { x: "1" } });
  const path = `/api/box/${made.body.id}`;
  const changed = await put(path, made.headers.get("etag") ?? "", { x: "2" });
  expect(changed.status).toBe(200);
  expect((await put(path, made.headers.get("etag") ?? "", { x: "3" })).status).toBe(412);
});

test("a migration changes the response and not the version", async () => {
  const { path, tag } = await note();
  const wider = parseDefinition({ name: "notes", fields: [...fields, { name: "added", type: "string" }] });
  await migrate(service, { define: [wider], drop: [] });
  const answer = await get(path, tag);
  expect([answer.status, answer.body["added"]]).toEqual([200, null] as never);
  expect((await put(path, tag, { title: "b" })).status).toBe(200);
});
