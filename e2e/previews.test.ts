/** Previews of runs on the built executable, with several processes or in a cluster: any process answers, and nothing stays. */
import { expect, test } from "bun:test";
import type { FunctionRun, Page, RunPreview } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { inParallel, post, serve, until } from "./kit.ts";
import { collection, scriptProject, write } from "./scripts-kit.ts";

/** An instance of a cluster is a process. */
const isCluster = process.env["SOCLE_TEST_CLUSTER"] !== undefined;

const code = (end: string): string => `export const options = { retries: 0 };
  export const onCreate = async ({ record, db, jobs }) => {
    await fetch("http://127.0.0.1:9/", { method: "POST", body: "x" }).catch(() => undefined);
    await db.copies.create({ n: record.n });
    await jobs.enqueue("later", { n: record.n });
    ${end}
  };`;

test("a failed run is mended, previewed by any process beside writes, and made again", async () => {
  const path = "functions/orders/pay.ts";
  const cwd = await scriptProject({
    collections: [collection("orders"), collection("copies")],
    files: {
      [path]: code("").replace("await fetch", 'throw new Error("not yet"); await fetch'),
      "jobs/later.ts": "export const queue = {}; export default ({ db }) => db.copies.create({ n: -1 });",
      "jobs/spin.ts": `export const schedule = "0 0 1 1 *"; export const options = { timeout: "1s", retries: 0 };
        export default async ({ db }) => { if ((await db.copies.list()).length > 0) for (;;); };`,
    },
  });
  const server = await serve(cwd, isCluster ? {} : { env: { SERVICE_PROCESSES: "3" } });
  const client = new SocleClient({ baseUrl: server.url });
  const credentials = { email: "listener@example.com", password: "correct horse" };
  await client.register(credentials);
  const login = await post(`${server.url}/api/auth/login`, credentials);
  const { accessToken } = (await login.json()) as { accessToken: string };
  const { scripts } = client.admin;
  const spin = await scripts.runJob("spin");
  await client.collection("orders").create({ n: 7 });
  let failed: Page<FunctionRun> | undefined;
  await until(async () => {
    failed = await scripts.functionRuns({ status: "failed" });
    return failed.items.length === 1;
  });
  const runId = failed?.items[0]?.runId ?? "";
  expect((await scripts.previewRun(runId)).outcome).toMatchObject({ status: "failed" });
  await write(cwd, { [path]: code("") });
  server.signal("SIGHUP");
  let preview: RunPreview | undefined;
  await until(async () => {
    preview = await scripts.previewRun(runId);
    return preview.outcome.status === "completed";
  });
  expect(preview).toMatchObject({
    filePath: path,
    changes: [{ collection: "copies", created: 1, updated: 0, deleted: 0, records: [{ after: { n: 7 } }] }],
    calls: {
      items: [
        { kind: "fetch", method: "POST", body: "x" },
        { kind: "queue", target: "later" },
      ],
      more: 0,
    },
  });
  // Each request has a connection of its own, to any of the processes.
  const statuses: number[] = [];
  await inParallel(Array(6).keys(), 2, async () => {
    const response = await fetch(`${server.url}/api/admin/runs/${runId}/preview`, {
      method: "POST",
      keepalive: false,
      headers: { authorization: `Bearer ${accessToken}` },
    });
    statuses.push(response.status);
    await client.collection("orders").create({ n: 8 });
  });
  expect(new Set(statuses)).toEqual(new Set([200]));
  await until(async () => (await client.collection("copies").list()).length === 12);
  expect((await scripts.previewRun(spin.runId)).outcome).toMatchObject({ status: "late" });
  const before = (await client.collection("copies").list()).length;
  await scripts.retryFunction(runId);
  await until(async () => (await client.collection("copies").list()).length === before + 2);
}, 120_000);
