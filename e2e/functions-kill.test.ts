/** `kill -9` of the service, and of the process of functions, at any moment: every record's handler ran at least once. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { RecordList } from "@socle/protocol";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { inParallel, post, type Running, serve } from "./kit.ts";
import { collection, scriptProject, waiting } from "./scripts-kit.ts";

const kills = 20;
const creates = 1_000;
const random = randomNumbers(randomSeed("functions-kill"));

const handler = `
import { appendFileSync } from "node:fs";
export const onCreate = async ({ record, event, db }: any) => {
  appendFileSync("runs.log", record.n + "\\n");
  // With the event's id as a unique key, the effect comes once, however often this runs.
  const [done] = await db.query("SELECT id FROM effects WHERE event = ?", [event.id]);
  if (done === undefined)
    await db.collection("effects").create({ n: record.n, event: event.id }).catch((error: any) => {
      if (error.details?.[0]?.rule !== "unique") throw error;
    });
};
`;

const effects = {
  name: "effects",
  fields: [
    { name: "n", type: "integer" },
    { name: "event", type: "string", unique: true, required: true },
  ],
};

function scriptProcesses({ pid }: Running): string[] {
  const { stdout } = Bun.spawnSync(["ps", "-o", "pid=,args=", "--ppid", String(pid)]);
  const lines = stdout.toString().split("\n");
  return lines.filter((line) => line.includes("script-host")).map((line) => line.trim().split(" ")[0] ?? "");
}

test("a process that is killed from outside blames no run: each is made again, and none is listed as failed", async () => {
  const slow = `
import { appendFileSync } from "node:fs";
export const onCreate = async ({ record }: any) => {
  appendFileSync("started.log", record.n + "\\n");
  await Bun.sleep(150);
  appendFileSync("done.log", record.n + "\\n");
};
`;
  const cwd = await scriptProject({ collections: [collection("items")], files: { "functions/items/slow.ts": slow } });
  const server = await serve(cwd);
  const started = async (): Promise<number> =>
    (
      await Bun.file(join(cwd, "started.log"))
        .text()
        .catch(() => "")
    ).split("\n").length - 1;
  // One at a time: each is the only run that its process has.
  for (let n = 0; n < 3; n++) {
    const before = await started();
    await post(`${server.url}/api/items`, { n });
    while ((await started()) === before) await Bun.sleep(2);
    for (const pid of scriptProcesses(server)) process.kill(Number(pid), "SIGKILL");
    while (waiting(cwd) > 0) await Bun.sleep(10);
  }
  expect((await Bun.file(join(cwd, "done.log")).text()).trim().split("\n").map(Number)).toEqual([0, 1, 2]);
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  expect(database.query("SELECT count(*) AS n FROM _events WHERE type = 'function.failed'").get()).toEqual({ n: 0 });
}, 60_000);

test(`${creates} creates, the service killed ${kills} times and its functions as often`, async () => {
  const cwd = await scriptProject({
    collections: [collection("items"), effects],
    files: { "functions/items/effect.ts": handler },
  });
  let server = await serve(cwd);
  let next = 0;
  const acknowledged: number[] = [];
  for (let round = 0; round < kills; round++) {
    let isUp = true;
    const until = Math.min(creates, Math.ceil(((round + 1) * creates) / kills));
    const work = inParallel([0, 1, 2, 3, 4, 5, 6, 7], 8, async () => {
      while (isUp && next < until) {
        const n = next++;
        const response = await post(`${server.url}/api/items`, { n }).catch(() => null);
        if (response?.status === 201) acknowledged.push(n);
      }
    });
    await Bun.sleep(random() * 25);
    for (const pid of scriptProcesses(server)) process.kill(Number(pid), "SIGKILL");
    await Bun.sleep(random() * 25);
    isUp = false;
    server.signal("SIGKILL");
    await server.exited;
    await work;
    server = await serve(cwd);
  }
  await inParallel(
    Array.from({ length: creates - next }, () => 0),
    8,
    async () => {
      const n = next++;
      if ((await post(`${server.url}/api/items`, { n })).status === 201) acknowledged.push(n);
    },
  );
  while (waiting(cwd) > 0) await Bun.sleep(20);

  const items = ((await (await fetch(`${server.url}/api/items`)).json()) as RecordList).items.map((item) => item["n"]);
  const done = ((await (await fetch(`${server.url}/api/effects`)).json()) as RecordList).items.map((item) => item["n"]);
  const runs = (await Bun.file(join(cwd, "runs.log")).text()).trim().split("\n").map(Number);
  expect(acknowledged.filter((n) => !items.includes(n))).toEqual([]);
  expect(items.length).toBeGreaterThan(creates / 2);
  const ran = new Set(runs);
  expect(items.filter((n) => !ran.has(Number(n)))).toEqual([]);
  // At least once, and at most as often as it was cut off; the effect exactly once, and for nothing that is not there.
  expect(runs.length).toBeLessThan(items.length + 2 * kills * 64);
  expect(done.toSorted()).toEqual(items.toSorted());
  expect(await server.stop()).toBe(0);
}, 120_000);

test("a log that keeps nothing keeps what is still to be run", async () => {
  const cwd = await scriptProject({
    collections: [collection("items"), effects],
    files: { "functions/items/effect.ts": "export const onCreate = () => new Promise(() => {});\n" },
    scripts: { timeout: "1h" },
  });
  const env = { SERVICE_EVENTS_RETENTION: "0" };
  const first = await serve(cwd, { env });
  for (let n = 0; n < 100; n++) await post(`${first.url}/api/items`, { n });
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const events = (): number =>
    database.query<{ n: number }, []>("SELECT count(*) AS n FROM _events WHERE type = 'items.created'").get()?.n ?? 0;
  while (events() > 0) await Bun.sleep(100);
  database.close();
  expect(waiting(cwd)).toBe(100);
  first.signal("SIGKILL");
  await first.exited;
  await Bun.write(join(cwd, "functions/items/effect.ts"), handler);
  const second = await serve(cwd, { env });
  while (waiting(cwd) > 0) await Bun.sleep(20);
  const { items } = (await (await fetch(`${second.url}/api/effects`)).json()) as RecordList;
  expect(items.map((item) => item["n"]).toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 100 }, (_, n) => n),
  );
}, 40_000);
