/** The audit: changes of admins and failed sign-ins stay when the event log removes old events. */
import { expect, test } from "bun:test";
import { keepsAll, openEventLog } from "../../../test/event-log.ts";
import { openApi, quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { EventRetention } from "./index.ts";

const folder = temporaryFolder();
const hour = 3_600_000;
const waiter = { caller: "test", signal: new AbortController().signal };

async function openAudit(name: string) {
  const log = await openEventLog(folder, name);
  const search = async (
    types: string[] | null,
    bounds: { from?: number; to?: number; limit?: number; offset?: number } = {},
  ) => {
    const { from = null, to = null, limit = 1_000, offset = 0 } = bounds;
    const found = await log.events.search({ types, from, to }, { limit, offset, waiter });
    return { ...found, items: found.items.map(({ type }) => type) };
  };
  return { ...log, search };
}

test("writes of users remove no change of an admin and no failed sign-in", async () => {
  const { append, retention, search, types, database } = await openAudit("kept.db");
  await append("admin.user.updated");
  await append("auth.failed");
  await append("auth.login");
  for (let n = 0; n < 50; n++) await append("posts.created");
  await retention(1e12, 10).trim();
  expect(await types()).toEqual(Array(10).fill("posts.created"));
  expect(await search(["admin.*"])).toEqual({ items: ["admin.user.updated"], total: 1 });
  expect(await search(["auth.*"])).toEqual({ items: ["auth.failed"], total: 1 });
  expect(await search(["posts.*"])).toEqual({ items: Array(10).fill("posts.created"), total: 10 });
  await database.close();
});

test("a search has events of the log before entries of the audit, page by page", async () => {
  const { append, retention, search, database, clock } = await openAudit("pages.db");
  const start = clock.time;
  for (const type of ["admin.a", "auth.login", "admin.b", "posts.created", "auth.locked", "admin.c"]) {
    await append(type);
    clock.time += hour;
  }
  await retention(1e12, 2).trim();
  await append("admin.d");
  const all = ["admin.d", "admin.c", "auth.locked", "admin.b", "admin.a"];
  expect(await search(null)).toEqual({ items: all, total: 5 });
  for (let offset = 0; offset < 6; offset++)
    expect(await search(null, { limit: 2, offset })).toEqual({ items: all.slice(offset, offset + 2), total: 5 });
  const times = { from: start + 2 * hour, to: start + 5 * hour };
  expect((await search(null, times)).items).toEqual(["admin.c", "auth.locked", "admin.b"]);
  expect((await search(["admin.b", "posts.*"], times)).items).toEqual(["admin.b"]);
  await retention(0, 0).trim();
  expect((await search(["admin.*"])).items).toEqual(["admin.d", "admin.c", "admin.b", "admin.a"]);
  await database.close();
});

test("the audit removes the oldest entries beyond its age, and counts changes and failed sign-ins apart", async () => {
  const { append, retention, search, database, clock } = await openAudit("bounds.db");
  const bounded = retention(0, 0, { "audit.retention": 100 * hour, "audit.maxCount": 3 });
  const trim = () => bounded.trim();
  await append("admin.first");
  for (let n = 0; n < 1_200; n++) await append("auth.failed");
  await trim();
  expect((await search(null)).items).toEqual(["auth.failed", "auth.failed", "auth.failed", "admin.first"]);
  for (const type of ["admin.a", "admin.b", "admin.c"]) await append(type);
  clock.time += 50 * hour;
  await trim();
  expect((await search(["admin.*"])).items).toEqual(["admin.c", "admin.b", "admin.a"]);
  await append("admin.d");
  await trim();
  clock.time += 51 * hour;
  await trim();
  expect((await search(null)).items).toEqual(["admin.d"]);
  await database.close();
});

test("GET /api/admin/events has the entries of the audit after the log has removed the events", async () => {
  const fields = [{ name: "text", type: "text" }];
  const api = await openApi({ collections: [{ name: "posts", fields }] });
  const token = await api.admin();
  await api.request("POST", "/api/admin/collections", { token, body: { name: "notes", fields } });
  for (let n = 0; n < 20; n++) await api.request("POST", "/api/posts", { body: {} });
  const { database, events, clock } = api.service;
  const config = { ...keepsAll, "events.maxCount": 5 };
  await new EventRetention({ clock, config, database, events, logger: quietLogger() }).trim();
  const answer = await api.request("GET", "/api/admin/events?type=admin.*", { token });
  expect(JSON.stringify(answer.body["items"])).toContain("admin.collection.created");
});
