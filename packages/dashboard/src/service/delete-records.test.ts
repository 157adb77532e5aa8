import { expect, test } from "bun:test";
import { batchSize, deleteRecords } from "./delete-records.ts";

const status = (code: number): Error => Object.assign(new Error(`HTTP ${code}`), { status: code });

/** A service that refuses some records; a batch with a refused record deletes no record. */
function serviceOf(refused: ReadonlyMap<string, Error>) {
  const deleted: string[] = [];
  const batches: number[] = [];
  const alone: string[] = [];
  const progress: number[] = [];
  let open = 0;
  const most = { open: 0 };
  const requests = {
    batch: async (ids: readonly string[]) => {
      batches.push(ids.length);
      const error = ids.map((id) => refused.get(id)).find((each) => each !== undefined);
      if (error !== undefined) throw error;
      deleted.push(...ids);
    },
    one: async (id: string) => {
      alone.push(id);
      most.open = Math.max(most.open, ++open);
      await Promise.resolve();
      open -= 1;
      const error = refused.get(id);
      if (error !== undefined) throw error;
      deleted.push(id);
    },
    onStart: () => undefined,
    onProgress: (done: number) => progress.push(done),
  };
  return { deleted, batches, alone, progress, most, requests };
}

const idsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `rec_${i}`);

test("many records are deleted in batches, with their progress", async () => {
  const ids = idsOf(2 * batchSize + 10);
  const { deleted, batches, alone, progress, requests } = serviceOf(new Map());
  expect(await deleteRecords(ids, requests)).toEqual([]);
  expect(batches).toEqual([batchSize, batchSize, 10]);
  expect(alone).toEqual([]);
  expect(deleted).toEqual(ids);
  expect(progress).toEqual([batchSize, 2 * batchSize, 2 * batchSize + 10]);
});

test("the records of a refused batch are tried singly, and each failure has its reason", async () => {
  const [forbidden, conflict] = [status(403), status(409)];
  const refused = new Map([
    ["rec_3", forbidden],
    ["rec_9", conflict],
    ["rec_12", status(404)],
  ]);
  const { deleted, batches, alone, progress, most, requests } = serviceOf(refused);
  const failures = await deleteRecords(idsOf(batchSize + 20), requests);
  expect(failures).toEqual([
    { id: "rec_3", reason: forbidden },
    { id: "rec_9", reason: conflict },
  ]);
  expect(batches).toEqual([batchSize, 20]);
  // The second batch is whole.
  expect(alone).toEqual(idsOf(batchSize));
  expect(deleted).toHaveLength(batchSize + 20 - 3);
  expect(deleted).not.toContain("rec_3");
  expect(progress.at(-1)).toBe(batchSize + 20);
  expect(most.open).toBe(6);
});

test("a single record needs no batch", async () => {
  const { deleted, batches, requests } = serviceOf(new Map());
  await deleteRecords(["rec_1"], requests);
  expect([batches, deleted]).toEqual([[], ["rec_1"]]);
});
