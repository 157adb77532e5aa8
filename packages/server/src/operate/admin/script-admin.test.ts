import { expect, test } from "bun:test";
import type { FunctionRun, Page, ScriptFileEntry } from "@socle/protocol";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";

const files = {
  "functions/items/check.ts": `
    import { existsSync } from "node:fs";
    export const onCreate = async ({ record, db }) => {
      if (record.name === "bad" && !existsSync("./fixed")) throw new Error("not yet: " + record.name);
      await db.collection("seen").create({ of: record.id });
    };`,
  "jobs/tidy.ts": `
    export const schedule = "0 3 * * *";
    export const options = { timezone: "Europe/Berlin", timeout: "5s" };
    export default async ({ db }) => { await db.collection("seen").create({ of: "job" }); };`,
};
const collections = [
  { name: "items", fields: [{ name: "name", type: "string" }] },
  { name: "seen", fields: [{ name: "of", type: "string" }] },
];
const opened = await openScripts({ collections, files });
const { request, scripts, folder } = opened;
const token = await opened.admin();
const get = async (path: string) => (await request("GET", `/api/admin${path}`, { token })).body;

async function runs(query = ""): Promise<{ items: FunctionRun[]; total: number }> {
  return (await request<Page<FunctionRun>>("GET", `/api/admin/functions/runs${query}`, { token })).body;
}

const create = (name: string) => request("POST", "/api/items", { body: { name } });
const seen = async (): Promise<number> => Number((await get("/collections/seen"))["records"]);

test("the list of functions and jobs, without their code", async () => {
  expect<unknown>(await get("/functions")).toEqual({
    items: [
      {
        collection: "items",
        type: "create",
        eventType: "items.created",
        filePath: "functions/items/check.ts",
        handler: "onCreate",
        timeout: 30_000,
        retries: 0,
      },
    ],
    total: 1,
    limit: 50,
    offset: 0,
  });
  const { items } = await get("/jobs");
  expect(items as unknown).toMatchObject([
    {
      name: "tidy",
      schedule: "0 3 * * *",
      filePath: "jobs/tidy.ts",
      timezone: "Europe/Berlin",
      timeout: 5_000,
      retries: 2,
      lastRun: null,
    },
  ]);
  expect(Date.parse(String(items?.["0"]?.["nextRun"]))).toBeGreaterThan(Date.now());
});

test("runs: newest first, in pages; a failed run is repeated by its id, once", async () => {
  for (const name of ["good", "bad", "better"]) await create(name);
  await scripts.functions.settled();
  const listed = await runs();
  expect([
    listed.total,
    listed.items.map(({ status, error, canRetry }) => [status, error?.slice(0, 12) ?? null, canRetry]).sort(),
  ]).toEqual([
    3,
    [
      ["completed", null, false],
      ["failed", "not yet: bad", true],
      ["completed", null, false],
    ].sort(),
  ]);
  expect((await runs("?limit=1&offset=1")).items).toEqual(listed.items.slice(1, 2));
  // The runs are listed in the order of the ends.
  const failed = listed.items.find(({ status }) => status === "failed");
  const first = listed.items.find(({ status }) => status === "completed");
  const retry = (runId = "") => request("POST", `/api/admin/functions/runs/${runId}/retry`, { token });
  expect((await retry(first?.runId)).status).toBe(404);
  for (const id of ["run_", "x", `${failed?.runId}0`, String(failed?.runId).replace(/^run_0/, "run_1")])
    expect([id, (await retry(id)).status]).toEqual([id, 404]);

  // The run fails again, and can be retried again.
  expect((await retry(failed?.runId)).status).toBe(202);
  await until(() => opened.log.filter((line) => line.includes("not yet: bad")).length === 2);
  await scripts.functions.settled();
  await Bun.write(`${folder}/fixed`, "");
  // Two retries at once: one starts the run, the other finds the run waiting or over.
  const statuses = (await Promise.all([retry(failed?.runId), retry(failed?.runId)])).map(({ status }) => status).sort();
  expect(statuses[0]).toBe(202);
  expect([400, 404]).toContain(statuses[1] ?? 0);
  await scripts.functions.settled();
  const [last] = (await runs()).items;
  expect(last).toMatchObject({ runId: String(failed?.runId), status: "completed", canRetry: false });
  const { items } = (await request("GET", "/api/seen")).body;
  expect(items as unknown as object[]).toHaveLength(3);
  const overview = await get("/overview");
  expect(overview["deliveries"] as unknown).toEqual({ waiting: 0, running: 0, failed: 0 });
});

test("a run of a missing file is not repeated until the file is back", async () => {
  const good = files["functions/items/check.ts"];
  await opened.save({ "functions/items/check.ts": `export const onCreate = () => { throw new Error("always"); };` });
  await create("any");
  await scripts.functions.settled();
  const [failed] = (await runs()).items;
  expect(failed?.status).toBe("failed");
  await opened.save({ "functions/items/check.ts": "export const onUpdate = () => undefined;" });
  const retry = () => request("POST", `/api/admin/functions/runs/${failed?.runId}/retry`, { token });
  const refused = await retry();
  expect([refused.status, String(refused.body["error"]?.["message"])]).toEqual([
    400,
    "onCreate of functions/items/check.ts is not loaded, so it cannot be run again.",
  ]);
  expect((await runs("?limit=1")).items).toMatchObject([{ runId: failed?.runId, status: "failed", canRetry: true }]);
  await opened.save({ "functions/items/check.ts": good });
  expect((await retry()).status).toBe(202);
  await scripts.functions.settled();
  expect((await runs("?limit=1")).items).toMatchObject([{ runId: failed?.runId, status: "completed" }]);
});

test("runs by status and by file", async () => {
  const hold = "functions/items/hold.ts";
  await opened.save({
    [hold]: `
      import { existsSync } from "node:fs";
      export const onCreate = async () => { while (!existsSync("./go")) await new Promise((next) => setTimeout(next, 5)); };`,
  });
  // Two runs of the same record: the second waits for the first.
  const { body } = await create("held");
  await request("PUT", `/api/items/${String(body["id"])}`, { body: { name: "bad" } });
  await until(() => scripts.functions.triggers().length === 2);
  const counts = async (query: string) =>
    (await runs(`?${query}&limit=1000`)).items.map(({ status, filePath }) => `${status} ${filePath}`);
  let held: string[] = [];
  while (held.length === 0) held = await counts(`status=running&filePath=${hold}`);
  // The runs of the other function come to the end meanwhile.
  while ((await counts("status=running")).length > 1) await Bun.sleep(5);
  expect(held).toEqual([`running ${hold}`]);
  expect(await counts(`status=completed&filePath=${hold}`)).toEqual([]);
  expect(await counts(`filePath=${hold}`)).toEqual([`running ${hold}`]);
  expect(await counts("filePath=functions/items")).toEqual([]);
  expect(await counts("status=waiting")).toEqual([]);
  const all = await counts("x=1");
  const completed = await counts("status=completed");
  expect(completed.length).toBeGreaterThan(0);
  expect(new Set(completed.map((text) => text.split(" ")[0]))).toEqual(new Set(["completed"]));
  const others = [...(await counts("status=failed")), ...(await counts("status=running")), ...completed];
  expect(others.sort()).toEqual(all.sort());
  const paged = (await runs(`?filePath=functions/items/check.ts&limit=1&offset=1`)).items;
  const whole = await runs("?filePath=functions/items/check.ts&limit=1000");
  expect(paged).toEqual(whole.items.slice(1, 2));
  expect(whole.total).toBe(whole.items.length);
  for (const status of ["done", "", "COMPLETED"]) {
    const refused = await request("GET", `/api/admin/functions/runs?status=${status}`, { token });
    expect([refused.status, String(refused.body["error"]?.["message"])]).toEqual([
      400,
      `"status" must be waiting, running, completed or failed, not "${status}".`,
    ]);
  }
  await Bun.write(`${folder}/go`, "");
  await scripts.functions.settled();
  expect(await counts(`filePath=${hold}`)).toEqual([`completed ${hold}`]);
});

test("a job by hand: its run is in its history", async () => {
  const before = await seen();
  const started = await request("POST", "/api/admin/jobs/tidy/run", { token });
  expect(started.status).toBe(202);
  const runId = String(started.body["runId"]);
  let status: unknown;
  while (status !== "completed") {
    await Bun.sleep(5);
    status = (await get("/jobs/tidy/runs"))["items"]?.["0"]?.["status"];
  }
  expect((await get("/jobs/tidy/runs"))["items"]?.["0"] as unknown).toMatchObject({ runId, attempt: 1 });
  const { items: attempts } = await get("/jobs/tidy/runs");
  expect((await get("/jobs"))["items"]?.["0"]?.["lastRun"] as unknown).toEqual(attempts?.["0"] as unknown);
  expect(await seen()).toBe(before + 1);
  for (const path of ["/jobs/tidi/runs", "/jobs/tidy.ts/runs"])
    expect((await request("GET", `/api/admin${path}`, { token })).status).toBe(404);
  expect((await request("POST", "/api/admin/jobs/tidi/run", { token })).status).toBe(404);
});

test("the last run of a job is the newest attempt of the run that began last, whatever was retried since", async () => {
  const { database } = opened.service;
  await database.transactLong("test", async (tx) => {
    const attempts: [runId: string, attempt: number, status: string, endedAt: number | null][] = [
      ["run_a", 1, "failed", 2],
      ["run_b", 1, "failed", 4],
      ["run_b", 2, "running", null],
      ["run_a", 2, "failed", 6],
    ];
    for (const [i, [runId, attempt, status, endedAt]] of attempts.entries())
      await tx.run(
        "INSERT INTO _job_runs (runId, job, attempt, status, startedAt, endedAt, error, isByHand) VALUES (?, 'tidy', ?, ?, ?, ?, ?, 0)",
        runId,
        attempt,
        status,
        i * 1_000,
        endedAt === null ? null : endedAt * 1_000,
        status === "failed" ? "why" : null,
      );
  });
  expect((await get("/jobs"))["items"]?.["0"]?.["lastRun"] as unknown).toEqual({
    runId: "run_b",
    startedAt: "1970-01-01T00:00:02.000Z",
    endedAt: null,
    status: "running",
    attempt: 2,
  });
  expect((await get("/jobs?offset=1"))["items"] as unknown).toEqual([]);
});

test("a repeated run comes after the runs of its record, also after a restart of the service", async () => {
  const steps = (name: string) => `await db.collection("seen").create({ of: "${name}" });`;
  const first = await openScripts({
    collections,
    files: {
      "functions/items/order.ts": `
        export const onCreate = async ({ db }) => { ${steps("create")} throw new Error("always"); };
        export const onUpdate = async ({ db, record }) => {
          ${steps("update begins")}
          await new Promise((resolve) => setTimeout(resolve, 300));
          ${steps("update ends")}
        };`,
    },
  });
  const given = await first.admin();
  const created = await first.request("POST", "/api/items", { body: { name: "one" } });
  await first.scripts.functions.settled();
  await first.stop();

  const second = await openScripts({ folder: first.folder });
  const all = async (path: string): Promise<{ [name: string]: unknown }[]> =>
    (await second.request<{ items: { [name: string]: unknown }[] }>("GET", path, { token: given })).body.items;
  const [failed] = await all("/api/admin/functions/runs");
  const retry = () => second.request("POST", `/api/admin/functions/runs/${failed?.["runId"]}/retry`, { token: given });
  const said = async (): Promise<unknown[]> => (await all("/api/seen")).map((record) => record["of"]).reverse();
  expect((await retry()).status).toBe(202);
  await second.scripts.functions.settled();
  expect(await said()).toEqual(["create", "create"]);

  await second.request("PUT", `/api/items/${created.body["id"]}`, { body: { name: "two" } });
  while ((await said()).length < 3) await Bun.sleep(5);
  expect((await retry()).status).toBe(202);
  await second.scripts.functions.settled();
  expect(await said()).toEqual(["create", "create", "update begins", "update ends", "create"]);
});

test("a run by hand is on disk before the response with its id", async () => {
  const { body } = await request("POST", "/api/admin/jobs/tidy/run", { token });
  const { runId } = body as unknown as { runId: string };
  const row = await opened.service.database.reader.get("SELECT runId FROM _job_runs WHERE runId = ?", runId);
  expect(row).toEqual({ runId });
});

test("files that do not load: their problem, with the version that keeps running", async () => {
  const path = "functions/items/broken.ts";
  const entry = async () => {
    const { items } = (await get("/scripts?limit=1000")) as unknown as Page<ScriptFileEntry>;
    return items.find(({ filePath }) => filePath === path);
  };
  await opened.save({ [path]: "export const onCreate = () => undefined;" });
  const good = await entry();
  expect(good).toMatchObject({ kind: "function", collection: "items", problem: null });
  await opened.save({ [path]: "export const onCreate = () => {\n  const = 1;\n};" });
  const bad = await entry();
  expect(bad?.loadedAt).toBe(String(good?.loadedAt));
  expect(bad?.problem?.message).toContain(`${path}:2:`);
  await opened.save({ [path]: "export const onCreate = () => undefined;" });
  const mended = await entry();
  expect(mended?.problem).toBeNull();
  expect(Date.parse(mended?.loadedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(good?.loadedAt ?? ""));

  await opened.save({ "jobs/never.ts": "export default () => undefined;" });
  const { items } = (await get("/scripts?limit=1000")) as unknown as Page<ScriptFileEntry>;
  expect(items.find(({ filePath }) => filePath === "jobs/never.ts")).toMatchObject({
    kind: "job",
    collection: null,
    loadedAt: null,
  });
  const refused = await request("GET", "/api/admin/scripts");
  expect(refused.status).toBe(401);
});

test("a retried run has the number of its failures and its next time", async () => {
  const path = "functions/items/again.ts";
  await opened.save({
    [path]: `export const options = { retries: 3 };
      export const onDelete = () => { throw new Error("still not"); };`,
  });
  const { body } = await create("short-lived");
  await request("DELETE", `/api/items/${String(body["id"])}`);
  let run: FunctionRun | undefined;
  for (const end = performance.now() + 120_000; run === undefined && performance.now() < end; await Bun.sleep(5))
    run = (await runs(`?filePath=${path}`)).items.find(({ failures }) => failures !== undefined);
  expect(run).toMatchObject({ failures: 1, error: null });
  expect(Date.parse(run?.retryAt ?? "")).toBeGreaterThan(Date.parse(run?.createdAt ?? ""));
});
