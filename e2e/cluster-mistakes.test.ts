/** Instances of a cluster that are configured wrongly: each says so in a line, and serves nothing. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startCluster } from "./cluster-kit.ts";
import { executable, freePort, singleService, socle, temporaryFolder } from "./kit.ts";
import { startProcess } from "./service-process.ts";

singleService("cluster");

const cluster = await startCluster(1);
const [leader] = cluster.instances;
if (leader === undefined) throw new Error("no instance");

/** The variables of a further instance. */
async function further(wrong: Record<string, string>): Promise<{ cwd: string; env: Record<string, string> }> {
  const env = { ...leader?.env, SERVICE_PORT: String(await freePort()), ...wrong };
  return { cwd: temporaryFolder(), env };
}

test("the files of others", async () => {
  const { code, stdout, stderr } = await socle(["serve"], await further({ SERVICE_STORAGE: "s3://elsewhere/files" }));
  expect([code, stdout + stderr]).toEqual([2, expect.not.stringMatching(/ERROR| at /)]);
  expect(stderr).toMatch(
    /^socle: storage s3:\/\/elsewhere\/files: the leader http:\/\/127\.0\.0\.1:\d+ has s3:\/\/[\w-]+\/files-test-\d+; all instances share the files$/m,
  );
});

test("a database of another journal is refused in a line, without a word about the disk", async () => {
  const { cwd, env } = await further({ SERVICE_CLUSTER_NAME: "other" });
  const other = await startProcess(cwd, { env });
  expect(await other.stop()).toBe(0);
  const { code, stdout, stderr } = await socle(["serve"], {
    cwd,
    env: { ...env, SERVICE_CLUSTER_NAME: leader.env["SERVICE_CLUSTER_NAME"] ?? "" },
  });
  expect([code, stdout + stderr]).toEqual([2, expect.not.stringMatching(/ERROR|The disk| at /)]);
  expect(stderr).toMatch(/does not belong to the journal of cluster\.name: .*socle cluster rejoin/);
});

test("another secret is reported in the log, and the instance serves nothing", async () => {
  const { cwd, env } = await further({ SERVICE_CLUSTER_SECRET: "another secret of instances" });
  const output = Bun.file(join(cwd, "output"));
  const child = Bun.spawn([executable, "serve"], {
    cwd,
    env: { ...process.env, ...env },
    stdout: output,
    stderr: output,
  });
  try {
    let text = "";
    for (; !text.includes("cluster.secret"); await Bun.sleep(50)) text = await output.text();
    expect(text).toMatch(
      /ERROR The leader http:\S+ refuses this instance: cluster\.secret must be equal on all instances/,
    );
    const answer = fetch(`http://127.0.0.1:${env["SERVICE_PORT"]}/health`).then(({ status }) => status);
    expect(await answer.catch(() => null)).toBeNull();
  } finally {
    child.kill("SIGTERM");
  }
  expect(await child.exited).toBe(0);
});

test("another cluster.name for a database with data is refused, and leaves no row", async () => {
  const { cwd, env } = await further({});
  const replica = await startProcess(cwd, { env });
  expect(await replica.stop()).toBe(0);
  const refused = await socle(["serve"], { cwd, env: { ...env, SERVICE_CLUSTER_NAME: "mistyped" } });
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/the journal has no cluster of the name mistyped: .*socle cluster rejoin/),
  ]);
  const status = await socle(["cluster", "status"], { cwd, env: { ...env, SERVICE_CLUSTER_NAME: "mistyped" } });
  expect([status.code, status.stderr]).toEqual([2, expect.stringContaining("has no cluster of the name mistyped")]);
  const client = cluster.engine.client();
  for (const table of ["cluster", "leader", "instances", "journal", "files", "roles"])
    expect(await client.unsafe(`SELECT 1 FROM socle_${table} WHERE cluster = 'mistyped'`)).toHaveLength(0);
});

test("a bucket that does not answer: the replica is ready, and the answer names the bucket", async () => {
  const { cwd, env } = await further({ SERVICE_S3_ENDPOINT: "http://127.0.0.1:1" });
  const replica = await startProcess(cwd, { env });
  const ask = () => fetch(`${replica.url}/health/ready`);
  let ready = await ask();
  for (; ready.status !== 200; ready = await ask()) await Bun.sleep(50);
  expect(await ready.json()).toMatchObject({
    status: "ok",
    notes: [expect.stringMatching(/^storage s3:\S+ does not answer this instance: /)],
  });
  expect(await (await fetch(`${leader.url}/health/ready`)).json()).not.toHaveProperty("notes");
  expect(await replica.stop()).toBe(0);
});

test("wrong keys of the bucket: the replica is not ready and never leads, gives the reason, and goes on with the right keys", async () => {
  const { cwd, env } = await further({ SERVICE_S3_ACCESS_KEY_ID: "WRONG" });
  const replica = await startProcess(cwd, { env });
  const ready = await fetch(`${replica.url}/health/ready`);
  expect([ready.status, await ready.text()]).toEqual([
    503,
    expect.stringMatching(/storage s3:.* refuses this instance/),
  ]);
  expect(replica.output()).toMatch(/WARN .*storage s3:\S+ refuses this instance, so that it cannot lead: /);
  expect(replica.output()).not.toContain("The disk refused");
  let status = "";
  while (!status.includes(`${replica.url}: storage s3:`))
    status = (await socle(["cluster", "status"], { cwd, env })).stdout;
  leader.running.signal("SIGKILL");
  await leader.running.exited;
  const client = cluster.engine.client();
  const live = () => client`SELECT address FROM socle_leader WHERE expires > clock_timestamp()`;
  while ((await live()).length > 0) await Bun.sleep(50);
  for (let look = 0; look < 20; look++) {
    expect(await live()).toHaveLength(0);
    await Bun.sleep(100);
  }
  await leader.start();
  expect(await replica.stop()).toBe(0);
  // Alone, the instance does not start.
  expect(await leader.running.stop()).toBe(0);
  const alone = await socle(["serve"], { cwd, env });
  expect([alone.code, alone.stderr]).toEqual([
    2,
    expect.stringMatching(/^socle: storage s3:\S+ refuses this instance/m),
  ]);
  await leader.start();
  const right = await startProcess(cwd, {
    env: { ...env, SERVICE_S3_ACCESS_KEY_ID: leader.env["SERVICE_S3_ACCESS_KEY_ID"] ?? "" },
  });
  while ((await fetch(`${right.url}/health/ready`)).status !== 200) await Bun.sleep(50);
  expect(await right.stop()).toBe(0);
});
