/** Queries that look at too many records for the event loop, and run on a thread. */
import { expect, spyOn, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

const records = 20_000;
const a = { name: "a", type: "integer" };
const b = { name: "b", type: "integer" };
const other = { name: "other", type: "relation", collection: "others" };
const api = await openApi({
  collections: [
    { name: "others", fields: [{ name: "name", type: "string" }] },
    { name: "items", fields: [a, b, other] },
  ],
  // No query of these tests is to be ended for taking time, however busy the machine is.
  settings: { SERVICE_LIMITS_QUERY_TIME: "1h" },
});
const { request, service } = api;
const admin = await api.admin();

/** In each record, `b` is `a` and 100,000 more. */
await service.database.transactLong("test", async (tx) => {
  await tx.run(
    "INSERT INTO others (id, createdAt, updatedAt, name) VALUES ('rec_o', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'one')",
  );
  await tx.run(
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) INSERT INTO items (id, createdAt, updatedAt, a, b, other) SELECT 'rec_' || n, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', n, n + 100000, 'rec_o' FROM c",
    records,
  );
});

const query = (parameters: Record<string, string>): Promise<{ status: number; body: RecordPage }> =>
  request<RecordPage>("GET", `/api/items?${new URLSearchParams(parameters)}`);

test("filter, sort, pages, counts and expansions are the same on a thread", async () => {
  for (let round = 0; round < 2; round++) {
    const found: unknown[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const parameters = {
        filter: "a > 19990 && a != 19995",
        sort: "-b",
        limit: "4",
        count: "exact",
        expand: "other",
        cursor,
      };
      const { status, body }: { status: number; body: RecordPage } = await query(parameters);
      expect([status, body.total]).toEqual([200, 9]);
      found.push(...body.items.map((item) => item["a"]));
      expect<unknown>(body.items[0]?.["expand"]).toMatchObject({ other: { name: "one" } });
      cursor = body.nextCursor;
    }
    expect(found).toEqual([20_000, 19_999, 19_998, 19_997, 19_996, 19_994, 19_993, 19_992, 19_991]);
  }
  expect((await query({ filter: "other.name = 'one' && a < 100", count: "exact", limit: "1" })).body.total).toBe(99);
});

test("a slow query runs on a thread", async () => {
  using onThread = spyOn(service.database, "task");
  const slow = query({
    filter: Array.from({ length: 90 }, (_, n) => `a != -${n + 1}`).join(" && "),
    sort: "b",
    limit: "1",
  });
  expect((await slow).status).toBe(200);
  expect(onThread).toHaveBeenCalledTimes(1);
});

test("few slow records are read on a thread, too", async () => {
  const meta = { name: "meta", type: "json" };
  const body = { name: "body", type: "text" };
  await request("POST", "/api/admin/collections", { token: admin, body: { name: "long", fields: [meta, body] } });
  const list = Array.from({ length: 40_000 }, (_, n) => `t${n % 10}`);
  for (let n = 0; n < 5; n++)
    await request("POST", "/api/long", { body: n % 2 === 0 ? { meta: { list } } : { body: "lorem ".repeat(60_000) } });
  const terms = (one: string): string => Array.from({ length: 30 }, () => one).join(" || ");
  for (const one of ['meta.list ~ "é"', 'meta.list ~ "none"', 'body ~ "é"', 'body ~ "none"', "meta.other = 1"]) {
    using onThread = spyOn(service.database, "task");
    const search = new URLSearchParams({ filter: terms(one), fields: "id" });
    const { status, body: page } = await request<RecordPage>("GET", `/api/long?${search}`);
    expect([one, status, page.items]).toEqual([one, 200, []]);
    expect(onThread).toHaveBeenCalledTimes(1);
  }
});

test("a definition that changes meanwhile: each response is of a single state, and no response is an error", async () => {
  let isOver = false;
  const seen = { before: 0, after: 0 };
  /** The fields swap names over and over, so that a column that was read by an old name has the other's values. */
  const migrate = async (): Promise<void> => {
    for (let n = 0; n < 10; n++) {
      const fields = [{ ...a, renamedFrom: "b" }, { ...b, renamedFrom: "a" }, other];
      const answer = await request("PUT", "/api/admin/collections/items", { token: admin, body: { fields } });
      expect(answer.status).toBe(200);
      await Bun.sleep(5);
    }
    isOver = true;
  };
  const read = async (): Promise<void> => {
    while (!isOver) {
      const { status, body } = await query({ filter: "a > 0", sort: "-b", limit: "3", count: "exact", fields: "a,b" });
      expect([status, body.total]).toEqual([200, records]);
      const differences = new Set(body.items.map((item) => Number(item["b"]) - Number(item["a"])));
      expect(differences.size).toBe(1);
      const [difference] = differences;
      expect(Math.abs(difference ?? 0)).toBe(100_000);
      seen[difference === 100_000 ? "before" : "after"] += 1;
      await Bun.sleep(0);
    }
  };
  await Promise.all([migrate(), read(), read(), read()]);
  expect(seen.before).toBeGreaterThan(0);
  expect(seen.after).toBeGreaterThan(0);
  expect(api.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
});
