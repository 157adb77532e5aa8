/** The end of all runs: the service says when nothing of the user's code is due or under way. */
import { expect, test } from "bun:test";
import { openScripts } from "../../test/scripts.ts";
import { system } from "../base/kernel/index.ts";

const files = {
  "functions/a/next.ts": `
    export const onCreate = async ({ record, jobs }) => {
      if (record.n > 0) await jobs.enqueue("next", { n: record.n - 1 });
    };
    export const onUpdate = async ({ record, jobs }) => {
      if (record.n === 3) await jobs.enqueue("next", { n: 0 });
    };`,
  "jobs/next.ts": `
    export const queue = { concurrency: 1 };
    export default ({ payload, db }) => db.collection("a").create({ n: payload.n });`,
  "jobs/later.ts": `
    export const queue = { concurrency: 1, retries: 5 };
    export default () => { throw new Error("tried again in seconds"); };`,
};

const { service, scripts, request } = await openScripts({
  collections: [
    { name: "a", fields: [{ name: "n", type: "integer" }], permissions: { create: "public", update: "public" } },
  ],
  files,
});
const records = async (): Promise<number> => {
  const rows = await service.database.reader.all<{ n: number }>("SELECT count(*) AS n FROM a");
  return rows[0]?.n ?? 0;
};

/** Enqueues a run, and returns in the turn of the event loop in which the run is on disk. */
async function enqueue(name: string, payload: object): Promise<void> {
  await scripts.jobs.queues.enqueue(name, { payload: JSON.stringify(payload), options: undefined }, system);
}

test("a run on disk that has not begun counts, and so does every consequence of the run", async () => {
  await enqueue("next", { n: 5 });
  await scripts.settled();
  // One by each run, and a run by each but the last.
  expect(await records()).toBe(6);
});

test("so does a function whose change is on disk", async () => {
  const before = await records();
  for (let n = 1; n <= 10; n++) {
    expect((await request("POST", "/api/a", { body: { n: 1 } })).status).toBe(201);
    await scripts.settled();
    expect((await records()) - before).toBe(2 * n);
  }
});

test("so does a function that waits for the function before, about the same record", async () => {
  const { body } = await request<{ id: string }>("POST", "/api/a", { body: { n: 0 } });
  const before = await records();
  for (let n = 1; n <= 5; n++) {
    for (const value of [1, 2, 3]) await request("PUT", `/api/a/${body.id}`, { body: { n: value } });
    await scripts.settled();
    expect((await records()) - before).toBe(n);
  }
});

test("so does a full queue", async () => {
  const before = await records();
  await Promise.all(Array.from({ length: 40 }, () => enqueue("next", { n: 1 })));
  await scripts.settled();
  expect((await records()) - before).toBe(80);
});

test("a run that waits for its next attempt does not", async () => {
  await enqueue("later", {});
  await scripts.settled();
  expect(await scripts.jobs.queues.counts("later")).toEqual({ waiting: 1, running: 0, failed: 0 });
});
