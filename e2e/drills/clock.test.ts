/** Drill of a cluster: the clock of a machine is two hours ahead. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { differences } from "../cluster-content.ts";
import { startCluster } from "../cluster-kit.ts";
import { post, temporaryFolder } from "../kit.ts";
import { Control } from "../reliability/tracer/control.ts";
import { serveTraced } from "../reliability/tracer/traced.ts";
import { runCommand } from "../service-process.ts";
import { Drill, readyAt } from "./drill.ts";

const open = { read: "public", create: "public" };
const posts = { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: open };
const cluster = await startCluster(2, { files: { "collections/posts.json": JSON.stringify(posts) } });

test("the clock of a machine is wrong", async () => {
  const [replica] = await cluster.replicas();
  const leader = await cluster.leader();
  if (replica === undefined) throw new Error("The cluster has no replica");
  const drill = new Drill("clock wrong", [leader, replica]);
  const status = async (): Promise<string> =>
    (await runCommand(["cluster", "status"], { cwd: leader.folder, env: { ...leader.env } })).stdout;
  await replica.running.stop();
  const output = join(temporaryFolder(), "tracer");
  mkdirSync(output, { recursive: true });
  const control = new Control(output);
  control.clockOffsetMs = 7_200_000;
  drill.say("A machine starts with a clock that is two hours ahead.");
  replica.running = await serveTraced(replica.folder, { output, clock: true }, { env: replica.env });
  await drill.wait("The status names the clock", async () => /the clock of this machine/.test(await status()));
  await drill.run(leader, ["cluster", "status"]);
  const account = { email: "user@example.com", password: "a long password" };
  const { accessToken } = (await (await post(`${leader.url}/api/auth/register`, account)).json()) as {
    accessToken: string;
  };
  const headers = { Authorization: `Bearer ${accessToken}` };
  expect((await fetch(`${replica.url}/api/auth/me`, { headers })).status).toBe(200);
  expect((await post(`${replica.url}/api/posts`, { n: 1 })).status).toBe(201);
  drill.say("Meanwhile tokens are accepted there, and writes are taken.");
  drill.say("The clock is set (NTP).");
  control.clockOffsetMs = 0;
  await drill.wait("The status names no problem", async () => !/the clock of this machine/.test(await status()));
  expect((await readyAt(replica)).status).toBe(200);
  expect(await differences(cluster.instances)).toEqual([]);
  // The tracer, which makes the clock, ends with the test.
  await replica.running.stop();
  await replica.start();
  drill.end();
}, 300_000);
