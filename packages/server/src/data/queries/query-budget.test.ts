/** Loop tries: a list that meets few rows is read on the event loop, a list beyond the bound on a thread, with the same answer. */
import { beforeEach, expect, spyOn, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { readWithoutTime } from "../../../test/loop-reads.ts";
import { stopProbe } from "../../store/database/index.ts";
import { QueryBudget } from "./query-budget.ts";

const records = 2_500;
const number = (name: string): object => ({ name, type: "integer" });
const { service, request } = await openApi({
  collections: [
    { name: "items", fields: [number("n"), number("price"), number("few")], indexes: [["n"]] },
    { name: "notes", fields: [{ name: "item", type: "relation", collection: "items" }] },
  ],
  settings: { SERVICE_CACHE_SIZE: "0" },
});
await service.database.transactLong("test", async (tx) => {
  await tx.run(
    `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${records})
    INSERT INTO items (id, createdAt, updatedAt, n, price, few) SELECT printf('rec_%05d', i), '2026-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00.000Z', i % 100, i, CASE WHEN i <= 900 THEN i END FROM c`,
  );
});

const onLoop = readWithoutTime(service.database);
const onThreads = spyOn(service.database, "task");
beforeEach(() => {
  onLoop.mockClear();
  onThreads.mockClear();
});

/** The prices of a page, with the tries on the event loop and the reads on threads since the last call. */
async function list(search: Record<string, string>): Promise<{ prices: unknown[]; total?: number; sites: number[] }> {
  const { status, body } = await request<RecordPage>("GET", `/api/items?${new URLSearchParams(search)}`);
  expect([search, status]).toEqual([search, 200]);
  const sites = [onLoop.mock.calls.length, onThreads.mock.calls.length];
  onLoop.mockClear();
  onThreads.mockClear();
  return {
    prices: body.items.map((item) => item["price"]),
    ...(body.total !== undefined && { total: body.total }),
    sites,
  };
}

const loop = [1, 0];
const both = [1, 1];
const thread = [0, 1];

test("a list that an index does not find alone, with conditions that never repeat", async () => {
  for (let i = 0; i < 20; i++) {
    const expected = Array.from({ length: records }, (_, at) => at + 1).filter((n) => n % 100 === 7 && n > 2_000 + i);
    const search = { filter: `n = 7 && price > ${2_000 + i}`, limit: "20" };
    expect(await list(search)).toEqual({ prices: expected.toReversed().slice(0, 20), sites: loop });
    const counted = { ...search, sort: "price", count: "exact" };
    expect(await list(counted)).toEqual({ prices: expected.slice(0, 20), total: expected.length, sites: loop });
  }
});

test("a list that exceeds the bound of rows is read on a thread, and tried again after a pause that doubles", async () => {
  const heavy = { filter: "few > 5000", limit: "10" };
  const sites: number[][] = [];
  for (let i = 0; i < 11; i++) sites.push((await list({ ...heavy, filter: `few > ${5_000 + i}` })).sites);
  expect(sites).toEqual([both, thread, both, thread, thread, thread, both, thread, thread, thread, thread]);
  // Another limit is another shape, and the newest records are met first.
  expect((await list({ filter: "price > 2400", limit: "5" })).sites).toEqual(loop);
});

test("a try that succeeds ends the pause", async () => {
  const filter = (least: number) => ({ filter: `price < ${least}`, limit: "7" });
  expect(await list(filter(8))).toEqual({ prices: [7, 6, 5, 4, 3, 2, 1], sites: both });
  expect((await list(filter(5_000))).sites).toEqual(thread);
  expect((await list(filter(5_000))).sites).toEqual(loop);
  expect((await list(filter(8))).sites).toEqual(both);
  expect((await list(filter(8))).sites).toEqual(thread);
  expect((await list(filter(5_000))).sites).toEqual(loop);
});

test("rows of counts, offsets, orders and expansions count, too", async () => {
  expect(await list({ filter: "price > 0", count: "exact", limit: "3" })).toEqual({
    prices: [2_500, 2_499, 2_498],
    total: records,
    sites: both,
  });
  expect(await list({ offset: "2000", limit: "2" })).toEqual({ prices: [500, 499], sites: both });
  expect(await list({ sort: "price", limit: "1" })).toEqual({ prices: [1], sites: both });
  await service.database.transactLong("test", async (tx) => {
    await tx.run(
      `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1500) INSERT INTO notes (id, createdAt, updatedAt, item)
      SELECT printf('rec_%05d', i), '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'rec_02500' FROM c`,
    );
  });
  expect((await list({ expand: "notes(item)", limit: "1" })).sites).toEqual(both);
  expect((await list({ limit: "1" })).sites).toEqual(loop);
});

test("a list without a page's limit is read on the event loop while the collection is small", async () => {
  expect((await list({ filter: "few <= 900", sort: "-few" })).sites).toEqual(both);
  expect((await list({ filter: "n = 3" })).prices).toHaveLength(25);
  expect(onThreads).not.toHaveBeenCalled();
});

test("a few slow rows exceed the budget, too", () => {
  // Reads have their bound of time again.
  onLoop.mockRestore();
  const { rows } = service.database;
  const read = (bytes: number, limit: number): unknown[] | null =>
    rows.within(100_000, () =>
      rows.all(
        `SELECT n FROM items WHERE ${stopProbe("items")} AND length(hex(zeroblob(${bytes} + items._seq))) > 0 LIMIT ${limit}`,
      ),
    );
  // The clock stands still: on a busy machine, the system may pause a quick read for longer than the bound.
  const readQuickly = (): unknown[] | null => {
    const clock = spyOn(performance, "now").mockReturnValue(performance.now());
    try {
      return read(1, 40);
    } finally {
      clock.mockRestore();
    }
  };
  expect(readQuickly()).toHaveLength(40);
  // Each row takes milliseconds of the processor.
  expect(read(5_000_000, 40)).toBeNull();
  expect(readQuickly()).toHaveLength(40);
});

test("a shape is tried at least once in 64 queries, and old shapes are forgotten", () => {
  const tries = new QueryBudget();
  let tried = 0;
  for (let i = 0; i < 640; i++)
    if (tries.isTried("heavy")) {
      tried += 1;
      tries.note("heavy", false);
    }
  expect(tried).toBe(15);
  expect(tries.isTried("other")).toBe(true);
  for (let i = 0; i < 1_000; i++) tries.note(`shape ${i}`, false);
  expect(tries.isTried("heavy")).toBe(true);
  expect(tries.isTried("shape 999")).toBe(false);
});
