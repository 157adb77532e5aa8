import { describe, expect, test } from "bun:test";
import type { EventSource, Page } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

const { service, request, register, admin } = await openApi({ collections: [{ name: "posts", fields: [] }] });
const token = await admin();
const { database, events } = service;

interface Listed {
  id: string;
  type: string;
  timestamp: string;
}

async function list(query: string): Promise<{ items: Listed[]; total: number }> {
  const { status, body } = await request<Page<Listed>>("GET", `/api/admin/events?${query}`, { token });
  expect(status).toBe(200);
  return body;
}

const start = 2_000_000_000_000;
const types = ["posts.created", "posts.updated", "auth.login", "admin.user.created", "function.completed"];

/** An event each second, with the types in turn. */
async function fill(count: number): Promise<void> {
  await database.transactLong("test", async (tx) => {
    for (let n = 0; n < count; n++) {
      const type = types[n % types.length] ?? "";
      const prefix = type.split(".")[0] ?? "";
      const source: EventSource = prefix === "posts" ? "collections" : prefix === "auth" ? "auth" : "admin";
      events.append(tx, { type, source, payload: { n }, principal: null }, start + n * 1_000);
    }
  });
}

const time = (n: number): string => new Date(start + n * 1_000).toISOString();

describe.each([
  ["a short log", 1_000],
  ["one that is read on a thread", 24_000],
] as const)("%s", (_name, until) => {
  test("finds by type, by time, in pages", async () => {
    const before = (await list(`from=${time(0)}`)).total;
    await fill(until - before);
    const all = await list(`from=${time(0)}&limit=3`);
    expect(all.total).toBe(until);
    expect(all.items.map(({ id }) => id)).toEqual(
      all.items
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
    for (const type of types) {
      const found = await list(`type=${type}&from=${time(0)}&limit=1000`);
      expect([type, found.total]).toEqual([type, until / types.length]);
      expect(new Set(found.items.map((item) => item.type))).toEqual(new Set([type]));
    }
    expect((await list(`type=posts.*&from=${time(0)}`)).total).toBe((until / 5) * 2);
    expect((await list(`type=posts.created,function.*&from=${time(0)}`)).total).toBe((until / 5) * 2);
    expect((await list("type=nothing.*")).total).toBe(0);
    expect((await list(`actor=usr_nobody&from=${time(0)}`)).total).toBe(0);
    expect((await list(`actor=&from=${time(0)}`)).total).toBe(until);
    // Both bounds are included.
    const window = await list(`from=${time(10)}&to=${time(19)}&limit=4&offset=2`);
    expect([window.total, window.items.map(({ timestamp }) => timestamp)]).toEqual([
      10,
      [time(17), time(16), time(15), time(14)],
    ]);
    expect((await list(`from=${time(until)}`)).total).toBe(0);
    expect((await list(`to=${time(-1)}&type=posts.*`)).total).toBe(0);
  });
});

test.each([
  "type=a%20b",
  "type='",
  "from=yesterday",
  "to=1",
  "from=2026-02-30",
  "to=2026-11-21%20(x)",
  "limit=x",
  "type=%2A%2A",
  `type=${"a,".repeat(20)}a`,
])("%s is refused", async (query) => {
  const { status, body } = await request("GET", `/api/admin/events?${query}`, { token });
  expect<unknown>([status, body["error"]?.["code"]]).toEqual([400, "bad_request"]);
});

test("finds by the causing user", async () => {
  const { user, accessToken } = await register("ann@example.com");
  await request("POST", "/api/posts", { token: accessToken, body: {} });
  await request("POST", "/api/posts", { body: {} });
  const types = async (query: string) => (await list(`actor=${user.id}${query}`)).items.map(({ type }) => type);
  expect(await types("")).toEqual(["posts.created", "auth.register"]);
  expect(await types("&type=posts.*")).toEqual(["posts.created"]);
  expect(await types("&type=posts.deleted")).toEqual([]);
});
