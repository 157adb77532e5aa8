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

test("another secret is told in the log, and the instance serves nothing", async () => {
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
