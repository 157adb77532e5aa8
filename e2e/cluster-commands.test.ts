/** `socle cluster init` and `socle cluster status`: a single service becomes a cluster, and a snapshot becomes a single service again. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { bucket, s3Key, startS3 } from "../packages/server/test/s3-server.ts";
import { startPostgres } from "../packages/server/test/test-postgres.ts";
import { post, project, type Running, serve, singleService, socle } from "./kit.ts";

singleService("cluster");

const s3 = await startS3();
const engine = await startPostgres();
const posts = JSON.stringify({
  name: "posts",
  fields: [{ name: "title", type: "string" }],
  permissions: { read: "public", create: "public" },
});
const single = {
  SERVICE_HOST: "127.0.0.1",
  SERVICE_STORAGE: `s3://${bucket}/files`,
  SERVICE_S3_ENDPOINT: s3.endpoint,
  SERVICE_S3_ACCESS_KEY_ID: s3Key,
  SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
  SERVICE_METRICS_TOKEN: "scrape-me",
};
const env = {
  ...single,
  SERVICE_CLUSTER_JOURNAL: engine.url(),
  SERVICE_CLUSTER_NAME: "moved",
  SERVICE_CLUSTER_SECRET: "a secret between instances",
};

async function folderWithPosts(): Promise<string> {
  const folder = await project();
  await Bun.write(`${folder}/collections/posts.json`, posts);
  return folder;
}

async function titles({ url }: Running, headers: Record<string, string> = {}): Promise<string[]> {
  const body = (await (await fetch(`${url}/api/posts?sort=createdAt`, { headers })).json()) as {
    items: { title: string }[];
  };
  return body.items.map(({ title }) => title);
}

async function create({ url }: Running, title: string): Promise<string> {
  const response = await post(`${url}/api/posts`, { title });
  expect(response.status).toBe(201);
  return response.headers.get("socle-position") ?? "";
}

interface Status {
  leader: string | null;
  term: number;
  position: number;
  journal: { entries: number };
  instances: { address: string; version: string; role: string; position: number; lag: number; isLive: boolean }[];
  snapshots: { name: string; position: number; madeAt: string }[];
}

async function status(cwd: string): Promise<{ code: number; status: Status }> {
  const { code, stdout, stderr } = await socle(["cluster", "status", "--json"], { cwd, env });
  expect(stderr).toBe("");
  return { code, status: JSON.parse(stdout) };
}

async function metrics({ url }: Running): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`, { headers: { Authorization: "Bearer scrape-me" } });
  expect(answer.status).toBe(200);
  const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("socle_cluster_"));
  return new Map(lines.map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]));
}

test("a single service becomes a cluster with all data, and a snapshot a single service", async () => {
  const first = await folderWithPosts();
  let service = await serve(first, { env: single });
  await create(service, "before");
  // A service has the database.
  const busy = await socle(["cluster", "init"], { cwd: first, env });
  expect([busy.code, busy.stderr]).toEqual([2, expect.stringContaining("socle.db")]);
  expect(await service.stop()).toBe(0);

  const noBucket = await socle(["cluster", "init"], { cwd: first, env: { ...env, SERVICE_STORAGE: "storage" } });
  expect([noBucket.code, noBucket.stderr]).toEqual([2, expect.stringContaining("socle restore FILE --force")]);
  const refused = await socle(["serve"], { cwd: first, env });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("socle cluster init")]);

  // As an init leaves the database that was killed before the end.
  const { id } = (await engine.client()`SELECT id FROM socle_cluster WHERE cluster = 'moved'`)[0];
  const file = new Driver(`${first}/socle.db`);
  file.run("UPDATE _position SET journal = ?, position = 1", [id]);
  file.close();
  const interrupted = await socle(["serve"], { cwd: first, env });
  expect([interrupted.code, interrupted.stderr]).toEqual([
    2,
    expect.stringContaining("run `socle cluster init` again"),
  ]);

  const init = await socle(["cluster", "init"], { cwd: first, env });
  expect([init.code, init.stderr]).toEqual([0, ""]);
  expect(init.stdout).toContain("cluster.secret");
  const again = await socle(["cluster", "init"], { cwd: first, env });
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining("the journal has this database already; go on with `socle serve`"),
  ]);
  const empty = await status(first);
  expect(empty.code).toBe(1);
  expect(empty.status).toMatchObject({ leader: null, position: 1, journal: { entries: 0 } });
  expect(empty.status.snapshots.map(({ position }) => position)).toEqual([1]);

  // Without the journal, nothing may change the database.
  const beside = await socle(["serve"], { cwd: first, env: single });
  expect([beside.code, beside.stderr]).toEqual([2, expect.stringContaining("belongs to the journal of a cluster")]);

  const second = await folderWithPosts();
  const leader = await serve(second, { env });
  expect(await titles(leader)).toEqual(["before"]);
  const replica = await serve(first, { env });
  const position = await create(replica, "after");
  const headers = { "Socle-Position": position };
  for (const instance of [leader, replica]) expect(await titles(instance, headers)).toEqual(["before", "after"]);

  const running = await status(first);
  expect(running.code).toBe(0);
  expect(running.status.leader).toBe(leader.url);
  expect(running.status.instances.map(({ address, role, isLive }) => [address, role, isLive]).sort()).toEqual(
    [
      [leader.url, "leader", true],
      [replica.url, "replica", true],
    ].sort(),
  );
  // With the commit of the build.
  const build = (await socle(["version"], { cwd: first })).stdout.trim();
  expect(running.status.instances.map(({ version }) => version)).toEqual(running.status.instances.map(() => build));
  // The leader has the newest commit, also before the leader tells the position to the journal.
  const leading = running.status.instances.find(({ role }) => role === "leader");
  expect([leading?.position, leading?.lag]).toEqual([running.status.position, 0]);
  for (const { madeAt } of running.status.snapshots) expect(new Date(madeAt).toISOString()).toBe(madeAt);
  const text = await socle(["cluster", "status"], { cwd: first, env });
  expect([text.code, text.stdout]).toEqual([0, expect.stringContaining(`leader ${leader.url}`)]);
  expect(text.stdout).toContain("entries behind");
  const [ofLeader, ofReplica] = [await metrics(leader), await metrics(replica)];
  expect([ofLeader.get("socle_cluster_leader"), ofReplica.get("socle_cluster_leader")]).toEqual([1, 0]);
  expect(ofLeader.get("socle_cluster_term")).toBe(running.status.term);
  expect(ofReplica.get("socle_cluster_position")).toBeGreaterThan(1);
  expect(ofReplica.get("socle_cluster_journal_reached")).toBe(1);
  // Commands beside an instance ask the leader.
  const admin = ["admin", "create", "root@example.com", "--password", "a long password"];
  for (const command of [
    admin,
    ["types"],
    ["backup", "copy.backup"],
    ["export", "posts", "posts.jsonl"],
    ["run", "job", "x"],
  ]) {
    const { code, stderr } = await socle(command, { cwd: first, env });
    expect([command, code, stderr]).toEqual([
      command,
      expect.any(Number),
      expect.stringContaining(`is a replica. Run the command beside the leader, ${leader.url}`),
    ]);
    expect(code).not.toBe(0);
  }
  expect(await socle(admin, { cwd: second, env })).toMatchObject({ code: 0, stderr: "" });
  for (const instance of [replica, leader]) expect(await instance.stop()).toBe(0);

  // A command that only reads works beside a stopped instance; a command that writes does not.
  expect(await socle(["types"], { cwd: first, env })).toMatchObject({ code: 0, stderr: "" });
  const made = await socle(["admin", "create", "a@example.com", "--password", "a long password"], { cwd: first, env });
  expect([made.code, made.stderr]).toEqual([2, expect.stringContaining("run the command beside the leader")]);
  expect(made.stderr).not.toContain("Configure the cluster");

  const third = await folderWithPosts();
  const [snapshot] = empty.status.snapshots;
  const restored = await socle(["restore", `s3://${bucket}/files/.snapshots/${snapshot?.name}`], {
    cwd: third,
    env: single,
  });
  expect([restored.code, restored.stderr]).toEqual([0, ""]);
  service = await serve(third, { env: single });
  expect(await titles(service)).toEqual(["before"]);
  await create(service, "single again");
  expect(await service.stop()).toBe(0);
});
