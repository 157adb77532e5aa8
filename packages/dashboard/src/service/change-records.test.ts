import { expect, test } from "bun:test";
import { batchSize, changeRecords } from "./change-records.ts";

const status = (code: number): Error => Object.assign(new Error(`HTTP ${code}`), { status: code });

/** A service that refuses some records; a batch with a refused record deletes no record. */
function serviceOf(refused: ReadonlyMap<string, Error>) {
  const deleted: string[] = [];
  const batches: number[] = [];
  const alone: string[] = [];
  const progress: number[] = [];
  const requests = {
    batch: async (ids: readonly string[]) => {
      batches.push(ids.length);
      const error = ids.map((id) => refused.get(id)).find((each) => each !== undefined);
      if (error !== undefined) throw error;
      deleted.push(...ids);
    },
    one: async (id: string) => {
      alone.push(id);
      const error = refused.get(id);
      if (error !== undefined) throw error;
      deleted.push(id);
    },
    onStart: () => undefined,
    onProgress: (done: number) => progress.push(done),
  };
  return { deleted, batches, alone, progress, requests };
}

const idsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `rec_${i}`);

test("many records are deleted in batches, with their progress", async () => {
  const ids = idsOf(2 * batchSize + 10);
  const { deleted, batches, alone, progress, requests } = serviceOf(new Map());
  expect(await changeRecords(ids, requests)).toEqual([]);
  expect(batches).toEqual([batchSize, batchSize, 10]);
  expect(alone).toEqual([]);
  expect(deleted).toEqual(ids);
  expect(progress).toEqual([batchSize, 2 * batchSize, 2 * batchSize + 10]);
});

test("a refused batch is halved down to the refused records, and each failure has its reason", async () => {
  const [forbidden, conflict] = [status(403), status(409)];
  const refused = new Map([
    ["rec_3", forbidden],
    ["rec_9", conflict],
    ["rec_12", status(404)],
  ]);
  const { deleted, batches, alone, progress, requests } = serviceOf(refused);
  const failures = await changeRecords(idsOf(batchSize + 20), requests);
  expect(failures).toEqual([
    { id: "rec_3", reason: forbidden },
    { id: "rec_9", reason: conflict },
  ]);
  // Few requests find three of 250 records; no record is sent twice after its success.
  expect(batches.length + alone.length).toBeLessThan(45);
  expect(alone.length).toBeLessThan(8);
  expect(new Set(deleted).size).toBe(deleted.length);
  // The second batch is whole.
  expect(batches.at(-1)).toBe(20);
  expect(deleted).toHaveLength(batchSize + 20 - 3);
  expect(deleted).not.toContain("rec_3");
  expect(progress.at(-1)).toBe(batchSize + 20);
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
});

test("a single record needs no batch", async () => {
  const { deleted, batches, requests } = serviceOf(new Map());
  await changeRecords(["rec_1"], requests);
  expect([batches, deleted]).toEqual([[], ["rec_1"]]);
});
