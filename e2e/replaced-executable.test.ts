/** The executable is deleted or replaced while the service runs: processes for code, queries and reads start all the same, and so does a new role of an instance. */
import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCluster } from "./cluster-kit.ts";
import { executable, post, project, serve, singleService, temporaryFolder } from "./kit.ts";

singleService("process");

const posts = {
  name: "posts",
  fields: [{ name: "n", type: "integer" }],
  permissions: { read: "public", create: "public" },
};
const hello = `export const access = "public";
export async function GET(_request, { db }) { return Response.json(await db.query("SELECT count(*) AS n FROM posts")); }
`;

function copyOfExecutable(): string {
  const copy = join(temporaryFolder(), "socle");
  copyFileSync(executable, copy);
  chmodSync(copy, 0o755);
  return copy;
}

for (const fault of ["deleted", "replaced"] as const)
  test(`a service whose executable is ${fault}`, async () => {
    const cwd = await project({ collections: [posts], config: { processes: 2 } });
    await Bun.write(`${cwd}/endpoints/hello.ts`, hello);
    const copy = copyOfExecutable();
    const { url, output, stop } = await serve(cwd, { executable: copy, env: { SERVICE_PORT: "0" } });
    rmSync(copy);
    if (fault === "replaced") writeFileSync(copy, "#!/bin/sh\nexit 7\n", { mode: 0o755 });
    // The processes for code and for queries start with the first use.
    const answer = await fetch(`${url}/api/function/hello`);
    expect([answer.status, await answer.text()]).toEqual([200, '[{"n":0}]']);
    expect((await post(`${url}/api/posts`, { n: 1 })).status).toBe(201);
    expect(output()).not.toMatch(/ERROR|posix_spawn/);
    expect(await stop()).toBe(0);
  });

test("an instance whose executable is deleted takes over", async () => {
  const files = { "collections/posts.json": JSON.stringify(posts), "endpoints/hello.ts": hello };
  const cluster = await startCluster(2, { files });
  const leader = await cluster.leader();
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("no replica");
  expect(await replica.running.stop()).toBe(0);
  const copy = copyOfExecutable();
  await replica.start(copy);
  rmSync(copy);
  leader.running.signal("SIGKILL");
  await leader.running.exited;
  while ((await cluster.leader()) !== replica) await Bun.sleep(50);
  while ((await fetch(`${replica.url}/health/ready`).catch(() => null))?.status !== 200) await Bun.sleep(50);
  const answer = await fetch(`${replica.url}/api/function/hello`);
  expect([answer.status, await answer.text()]).toEqual([200, '[{"n":0}]']);
  expect(replica.running.output()).not.toMatch(/ERROR|posix_spawn/);
});
