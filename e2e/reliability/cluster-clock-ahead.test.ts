/** A replica whose clock is two hours ahead: the replica judges tokens by the clock of the leader, and the status names the clock. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startCluster } from "../cluster-kit.ts";
import { post, singleService, temporaryFolder } from "../kit.ts";
import { runCommand } from "../service-process.ts";
import { hourMs } from "./clocks-world.ts";
import { Control } from "./tracer/control.ts";
import { serveTraced } from "./tracer/traced.ts";

singleService("cluster");

test("no token of the leader is refused, and the clock is reported", async () => {
  const cluster = await startCluster(2);
  const leader = await cluster.leader();
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("no replica");
  expect(await replica.running.stop()).toBe(0);
  const output = join(temporaryFolder(), "tracer");
  mkdirSync(output, { recursive: true });
  new Control(output).clockOffsetMs = 2 * hourMs;
  replica.running = await serveTraced(replica.folder, { output, clock: true }, { env: replica.env });
  while ((await fetch(`${replica.url}/health/ready`)).status !== 200) await Bun.sleep(50);
  const answer = await post(`${leader.url}/api/auth/register`, { email: "a@example.com", password: "a long password" });
  const { accessToken } = (await answer.json()) as { accessToken: string };
  const headers = {
    Authorization: `Bearer ${accessToken}`,
    "Socle-Position": answer.headers.get("socle-position") ?? "",
  };
  for (let use = 0; use < 3; use++) {
    expect((await fetch(`${replica.url}/api/auth/me`, { headers })).status).toBe(200);
    await Bun.sleep(300);
  }
  expect((await fetch(`${replica.url}/api/auth/me`, { headers: { Authorization: "Bearer nonsense" } })).status).toBe(
    401,
  );
  expect(replica.running.output()).toMatch(
    /WARN .*the clock of this machine is 1[12]\d\.\d min ahead of the clock of the leader/,
  );
  let status = "";
  while (!/the clock of this machine is/.test(status))
    status = (await runCommand(["cluster", "status"], { cwd: leader.folder, env: { ...leader.env } })).stdout;
  expect(status).toContain(`  ${replica.url}: the clock of this machine is`);
});
