/** Tests that a run is not blamed for the leftovers of an earlier run, nor for another run. */
// Promises: U1.
import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { isLong, peakMiB, post, serve, until } from "./kit.ts";
import { childrenOf, kill } from "./reliability/kills-processes.ts";
import { collection, RunEvents, scriptProject, waiting, write } from "./scripts-kit.ts";

/** Work that a handler does after its return, while the innocent handler runs. */
const leftovers: { readonly [name: string]: string } = {
  loops: "setTimeout(() => { while (true); }, 50);",
  ...(isLong && { loopsAfterTimeout: "await Bun.sleep(600); while (true);" }),
  rejectsText: "Bun.sleep(50).then(() => Promise.reject('boom'));",
  rejectsError: "(async () => { await Bun.sleep(50); await fetch('http://127.0.0.1:1/'); })();",
  throwsCycle: "setTimeout(() => { const e = new Error('cycle'); e.cause = e; throw e; }, 50);",
  throwsProxy: "setTimeout(() => { throw new Proxy({}, { get() { throw new Error('trap'); } }); }, 50);",
  throwsSymbol: "setTimeout(() => { throw Object.assign(new Error('x'), { message: Symbol('x') }); }, 50);",
  killsItself: "setTimeout(() => Bun.spawnSync(['kill', '-9', String(process.pid)]), 50);",
  throwsForEver: "setInterval(() => { throw new Error('again'); }, 1);",
};

describe("beside remains of a run", async () => {
  const files: Record<string, string> = {
    "functions/good/good.ts":
      "export const options = { timeout: '2s' };\nexport const onCreate = async () => void (await Bun.sleep(300));\n",
  };
  for (const [name, code] of Object.entries(leftovers))
    files[`functions/${name}/${name}.ts`] =
      `export const options = { timeout: "300ms" };\nexport const onCreate = async () => {\n  ${code}\n};\n`;
  const collections = ["good", ...Object.keys(leftovers)].map(collection);
  const server = await serve(await scriptProject({ collections, files }));
  const events = await RunEvents.of(server.url);

  test.each(Object.keys(leftovers))("%s", async (name) => {
    const path = "functions/good/good.ts";
    const before = events.of("function.completed", path).length;
    await post(`${server.url}/api/${name}`, { n: 1 });
    await Bun.sleep(10);
    await post(`${server.url}/api/good`, { n: 1 });
    await until(() => events.of("function.completed", path).length > before);
    // And once more, in the current process, old or new.
    await post(`${server.url}/api/good`, { n: 1 });
    await until(() => events.of("function.completed", path).length > before + 1);
    expect(events.of("function.failed", path)).toEqual([]);
    expect(events.of("function.failed", `functions/${name}/${name}.ts`).length).toBeLessThanOrEqual(1);
    // A process that goes on throwing is replaced for the others' sake.
    if (name === "throwsForEver") for (const pid of childrenOf(server.pid, ["script-host"])) kill(pid);
  });

  test("a loop while nothing runs keeps nothing from running", async () => {
    const path = "functions/good/good.ts";
    const before = events.of("function.completed", path).length;
    await post(`${server.url}/api/loops`, { n: 1 });
    // The loop begins 50 ms after the end of the run; no output shows the beginning.
    await Bun.sleep(300);
    await post(`${server.url}/api/good`, { n: 1 });
    await until(() => events.of("function.completed", path).length > before);
    expect(events.of("function.failed", path)).toEqual([]);
  });

  test("the log is not flooded, and shows nothing of the service's own code", async () => {
    const lines = server.output().split("\n");
    expect(lines.filter((line) => line.includes("again")).length).toBeLessThan(60);
    expect(server.output()).not.toContain("packages/server");
    expect(server.output()).not.toContain("$bunfs");
    expect(await server.stop()).toBe(0);
  });
});

test("rejections of many runs in the same turn are attributed", async () => {
  const server = await serve(
    await scriptProject({
      collections: [collection("good"), collection("bad")],
      files: {
        "functions/good/good.ts": "export const onCreate = async () => void (await Bun.sleep(30));\n",
        "functions/bad/bad.ts": "export const onCreate = () => void Promise.reject('nobody');\n",
      },
    }),
  );
  const events = await RunEvents.of(server.url);
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => post(`${server.url}/api/${n % 2 === 0 ? "good" : "bad"}`, { n })),
  );
  await until(() => events.of("function.completed", "functions/good/good.ts").length === 50);
  await until(() => events.of("function.failed", "functions/bad/bad.ts").length === 50);
  expect(events.of("function.failed", "functions/good/good.ts")).toEqual([]);
  expect(events.of("function.completed", "functions/bad/bad.ts")).toEqual([]);
});

describe("a process that is lost", () => {
  const says = (word: string): string => `export const onCreate = ({ logger }: any) => logger.info("says ${word}");\n`;
  const path = "functions/a/a.ts";

  test.each(["serve", "dev"])("in %s, the next process has the loaded code, not the code on the disk", async (mode) => {
    const cwd = await scriptProject({ collections: [collection("a")], files: { [path]: says("old") } });
    const server = await serve(cwd, { args: [mode] });
    await write(cwd, { [path]: mode === "dev" ? "export const onCreate = (\n" : says("new") });
    if (mode === "dev") await until(() => server.output().includes("its last version keeps running"));
    const before = childrenOf(server.pid, ["script-host"]);
    // A process that a reload has replaced may have ended meanwhile.
    for (const pid of before) kill(pid);
    await until(() => childrenOf(server.pid, ["script-host"]).some((pid) => !before.includes(pid)));
    await post(`${server.url}/api/a`, { n: 1 });
    await until(() => server.output().includes("says old"));
    expect(server.output()).not.toContain("says new");
    expect(await server.stop()).toBe(0);
  });
});

// 240 MB through the service and the process of functions take ten seconds of a core.
if (isLong)
  test("the subject of a run is dropped after the run", async () => {
    const server = await serve(
      await scriptProject({
        collections: [{ name: "heavy", fields: [{ name: "text", type: "text" }] }],
        files: { "functions/heavy/none.ts": "export const onCreate = () => undefined;\n" },
      }),
    );
    const events = await RunEvents.of(server.url);
    const text = "x".repeat(800_000);
    const records = 500;
    for (let n = 0; n < records; n++) expect((await post(`${server.url}/api/heavy`, { text })).status).toBe(201);
    await until(() => events.of("function.completed", "functions/heavy/none.ts").length === records);
    // The records, kept in memory, would take 400 MB beside the service.
    expect(await peakMiB(server)).toBeLessThan(300);
  });

test("links that lead nowhere or in a circle are skipped; a missing file may be a hook, and closes its collection", async () => {
  const cwd = await scriptProject({
    collections: [collection("a"), collection("b")],
    files: {
      "functions/a/a.ts": "export const onCreate = ({ logger }) => logger.info('says hello');\n",
      "functions/b/b.ts": "export const onCreate = () => undefined;\n",
    },
  });
  for (const [target, name] of [
    [".", "self"],
    ["x", "x"],
    ["nowhere", "gone"],
  ] as const)
    symlinkSync(target, join(cwd, "functions", name));
  symlinkSync("nowhere.ts", join(cwd, "functions/b/broken.ts"));
  const server = await serve(cwd, { args: ["dev"] });
  symlinkSync("y", join(cwd, "functions/y"));
  await post(`${server.url}/api/a`, { n: 1 });
  await until(() => server.output().includes("says hello"));
  expect((await post(`${server.url}/api/b`, { n: 1 })).status).toBe(503);
  await Bun.sleep(200);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
  expect(server.output()).toContain("ERROR functions/b/broken.ts does not load");
  expect(await server.stop()).toBe(0);
});

/** How many lines handlers have written. */
async function lines(path: string): Promise<number> {
  const text = await Bun.file(path)
    .text()
    .catch(() => "");
  return text.split("\n").length - 1;
}

test("a process that is killed from outside blames no run: each run is repeated, and no run is listed as failed", async () => {
  const path = "functions/items/slow.ts";
  const slow = `
import { appendFileSync } from "node:fs";
export const onCreate = async ({ record }: any) => {
  appendFileSync("started.log", record.n + "\\n");
  await Bun.sleep(150);
  appendFileSync("done.log", record.n + "\\n");
};
`;
  const cwd = await scriptProject({ collections: [collection("items")], files: { [path]: slow } });
  const server = await serve(cwd);
  const events = await RunEvents.of(server.url);
  // One request at a time: each run is the only run of its process.
  for (let n = 0; n < 3; n++) {
    const before = await lines(join(cwd, "started.log"));
    await post(`${server.url}/api/items`, { n });
    while ((await lines(join(cwd, "started.log"))) === before) await Bun.sleep(2);
    for (const pid of childrenOf(server.pid, ["script-host"])) kill(pid);
    while (waiting(cwd) > 0) await Bun.sleep(10);
  }
  expect((await Bun.file(join(cwd, "done.log")).text()).trim().split("\n").map(Number)).toEqual([0, 1, 2]);
  expect(events.of("function.failed", path)).toEqual([]);
});

test("a query whose process is killed from outside is repeated, and its run does not notice", async () => {
  const path = "functions/items/count.ts";
  const count = `
import { appendFileSync } from "node:fs";
const sql = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000) SELECT count(*) AS n FROM c";
export const onCreate = async ({ db }: any) => {
  appendFileSync("started.log", "started\\n");
  const [{ n }] = await db.query(sql);
  appendFileSync("done.log", n + "\\n");
};
`;
  const scripts = { timeout: "30s" };
  const cwd = await scriptProject({ collections: [collection("items")], files: { [path]: count }, scripts });
  const server = await serve(cwd);
  const events = await RunEvents.of(server.url);
  await post(`${server.url}/api/items`, { n: 1 });
  const queries = (): number[] => childrenOf(server.pid, ["script-query"]);
  await until(() => queries().length > 0);
  for (const pid of queries()) kill(pid);
  await events.first("function.completed", path);
  expect(events.of("function.failed", path)).toEqual([]);
  expect(await lines(join(cwd, "started.log"))).toBe(1);
  expect(await Bun.file(join(cwd, "done.log")).text()).toBe("2000000\n");
  expect(await server.stop()).toBe(0);
});
