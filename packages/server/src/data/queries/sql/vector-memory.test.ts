/** Vectors in memory: the rows that are read for a list, after changes and beyond the bound, and the candidates. */
import { expect, test } from "bun:test";
import { openApi } from "../../../../test/kit.ts";
import { encodeVector } from "../../../base/kernel/index.ts";
import type { Reader } from "../../../store/database/index.ts";
import { VectorMemory, vectorBytes } from "./vector-memory.ts";

const records = 3_000;
const fields = [{ name: "embedding", type: "vector", dimensions: 2 }];
const api = await openApi({
  collections: [
    { name: "notes", fields },
    { name: "others", fields },
  ],
});
const token = await api.admin();
for (const name of ["notes", "others"]) {
  const lines = Array.from({ length: records }, (_, i) => JSON.stringify({ embedding: [1, i / records] }));
  const headers = { "Content-Type": "application/x-ndjson" };
  const answer = await api.request("POST", `/api/${name}/import`, { body: lines.join("\n"), headers, token });
  expect(answer.body["imported"]).toBe(records as never);
}

const memory = new VectorMemory();
/** The rows with vectors that were read. */
let read = 0;
const { reader } = api.service.database;
const counting: Reader = {
  get: (sql, ...values) => reader.get(sql, ...values),
  all: <T>(sql: string, ...values: (string | number | null)[]) => {
    const rows = reader.all<T>(sql, ...values);
    if (sql.includes("AS vector")) read += rows.length;
    return rows;
  },
  some: (statement, isLast) => reader.some(statement, isLast),
};

/** The counts of the candidates of a page of two records, with the rows that were read for the candidates. */
function candidates(collection = "notes", bytes = vectorBytes(3 * records, 2)): { read: number; counts: number[] } {
  read = 0;
  const plan = {
    collection,
    table: `"${collection}"`,
    column: '"embedding"',
    dimensions: 2,
    metric: "cosine",
  } as const;
  const found = memory.nearest(
    counting,
    { ...plan, wanted: encodeVector([1, 0]) },
    { memory: bytes, from: null, records: 2 },
  );
  const counts = [...found].map((text) => (JSON.parse(text) as number[]).length);
  return { read, counts };
}

test("the first list reads all vectors, later lists only the changed vectors, and candidates are few at first", async () => {
  expect(candidates()).toEqual({ read: records, counts: [20, 160, 1_280] });
  expect(candidates().read).toBe(0);
  const { body: made } = await api.request("POST", "/api/notes", { body: { embedding: [1, 0] }, token });
  await api.request("POST", "/api/others", { body: { embedding: [1, 0] }, token });
  expect(candidates()).toEqual({ read: 1, counts: [20, 160, 1_280] });
  await api.request("PUT", `/api/notes/${made["id"]}`, { body: { embedding: null }, token });
  expect(candidates().read).toBe(1);
  await api.request("DELETE", `/api/notes/${made["id"]}`, { token });
  expect(candidates().read).toBe(0);
});

test("beyond the bound, the field that was asked for first goes, and its vectors are read again", () => {
  expect([candidates("others").read, candidates("notes").read]).toEqual([records + 1, 0]);
  const oneField = vectorBytes(records + 256, 2);
  expect(candidates("others", oneField).read).toBe(0);
  expect(candidates("others", oneField).read).toBe(0);
  expect(candidates("notes", oneField).read).toBe(records);
  expect(candidates("others", oneField).read).toBe(records + 1);
});

test("a change of a definition makes the next list read all vectors again", async () => {
  expect(candidates().read).toBe(records);
  expect(candidates().read).toBe(0);
  const body = { fields: [...fields, { name: "n", type: "integer" }] };
  expect((await api.request("PUT", "/api/admin/collections/notes", { body, token })).status).toBe(200);
  expect(candidates().read).toBe(records);
});
