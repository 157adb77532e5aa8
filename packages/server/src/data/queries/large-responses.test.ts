/** Large answers are made on a thread, also when an index answers the list: large answers would hold up the event loop. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { readWithoutTime } from "../../../test/loop-reads.ts";
import { system } from "../../base/kernel/index.ts";

const text = { name: "text", type: "text" };
const { service, request } = await openApi({
  collections: [
    { name: "notes", fields: [text] },
    { name: "pages", fields: [text, { name: "note", type: "relation", collection: "notes" }] },
  ],
  settings: { SERVICE_CACHE_SIZE: "0" },
});
const make = async (name: string, body: object): Promise<string> =>
  (await service.records.create(name, system, { ...body })).record.id;
const note = await make("notes", { text: "n".repeat(100_000) });
for (let n = 0; n < 100; n++) await make("pages", { text: `${n} ${"x".repeat(10_000)}`, note });

readWithoutTime(service.database);
const onThreads = spyOn(service.database, "task");
afterEach(() => {
  onThreads.mockClear();
});

test.each([
  ["limit=5", 5, 0],
  ["limit=100", 100, 1],
  ["limit=2&expand=note", 2, 0],
  ["limit=5&fields=id,note.text", 5, 1],
])("%s", async (search, count, threads) => {
  const { status, body } = await request<{ items: { id: string; expand?: unknown }[] }>("GET", `/api/pages?${search}`);
  expect(status).toBe(200);
  expect(body.items).toHaveLength(count);
  expect(new Set(body.items.map(({ id }) => id)).size).toBe(count);
  if (search.includes("note"))
    for (const item of body.items) expect(JSON.stringify(item)).toContain("n".repeat(100_000));
  expect(onThreads).toHaveBeenCalledTimes(threads);
});
