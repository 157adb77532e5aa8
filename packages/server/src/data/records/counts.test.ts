import { expect, test } from "bun:test";
import { migrate, openApi } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { RecordCounts, recordsChanged } from "./record-effects.ts";

const { service } = await openApi({ collections: [{ name: "t", fields: [] }] });
const { records, database, collections } = service;
const collection = () => records.collection("t");
const create = async (): Promise<string> => (await records.create("t", system, {})).record.id;

test("changes of a commit are counted once, whatever is read meanwhile", async () => {
  const first = await create();
  expect(await records.count(collection())).toBe(1);
  // Counted while others are created, from the beginning and in the middle of a batch.
  const counts: number[] = [];
  const creating = Promise.all(Array.from({ length: 20 }, create));
  while (counts.length < 50) {
    counts.push(await records.count(collection()));
    await Bun.sleep(0);
  }
  await creating;
  expect(counts.every((count, i) => count >= (counts[i - 1] ?? 1) && count <= 21)).toBe(true);
  expect(await records.count(collection())).toBe(21);
  await records.delete("t", system, first);
  await expect(records.delete("t", system, first)).rejects.toThrow("There is no record");
  expect(await records.count(collection())).toBe(20);
});

test("a collection that is counted during a commit has the change once", async () => {
  for (let round = 0; round < 20; round++) {
    const counts = new RecordCounts({ database });
    const before = (await database.reader.get<{ n: number }>("SELECT count(*) AS n FROM t"))?.n ?? 0;
    const writing = database.transactLong("test", async (tx) => {
      await tx.run("INSERT INTO t (id, createdAt, updatedAt) VALUES (?, '', '')", crypto.randomUUID());
      tx.note(recordsChanged.of({ collection: "t", owners: [null], by: 1 }));
    });
    // The first count comes before, within or after the commit.
    for (let turn = 0; turn < round % 4; turn++) await Promise.resolve();
    if (round % 5 === 0) await Bun.sleep(0);
    const counting = counts.of(collection());
    await writing;
    await counting;
    expect(await counts.of(collection())).toBe(before + 1);
  }
});

test("a definition that changes keeps the number; another collection of the name begins anew", async () => {
  const before = await records.count(collection());
  const define = (fields: { name: string; type: "string" }[]) =>
    migrate(service, { define: [{ definition: { name: "t", fields }, renamedFrom: new Map() }], drop: [] });
  await define([{ name: "a", type: "string" }]);
  expect(await records.count(collection())).toBe(before);
  await migrate(service, { define: [], drop: ["t"] });
  await define([]);
  expect(collections.get("t")).toBeDefined();
  expect(await records.count(collection())).toBe(0);
  await create();
  expect(await records.count(collection())).toBe(1);
});
