/** The continuous backup of a cluster: the leader sends, and a new leader goes on behind the segments of the former leader. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startCluster } from "./cluster-kit.ts";
import { behind, listed, withPlace } from "./continuous-kit.ts";
import { post, project, serve, socle, temporaryFolder, until } from "./kit.ts";

const posts = JSON.stringify({
  name: "posts",
  fields: [{ name: "n", type: "integer" }],
  permissions: { read: "public", create: "public" },
});
const place = join(temporaryFolder(), "live");
const { SERVICE_ADMIN_EMAIL: _email, SERVICE_ADMIN_PASSWORD: _password, ...settings } = withPlace(place);
const cluster = await startCluster(2, { files: { "collections/posts.json": posts }, settings });

test("after the kill of the leader, the new leader goes on without a gap, and the backup is the database of a single service", async () => {
  const leader = await cluster.leader();
  const create = async (url: string, n: number): Promise<void> => {
    expect((await post(`${url}/api/posts`, { n })).status).toBe(201);
  };
  for (let n = 0; n < 10; n++) await create(leader.url, n);
  await until(async () => (await behind(leader.url)) === 0);
  // The last writes have perhaps not left.
  for (let n = 10; n < 15; n++) await create(leader.url, n);
  leader.running.signal("SIGKILL");
  await leader.running.exited;
  await until(async () => (await cluster.leader()) !== leader);
  const next = await cluster.leader();
  await until(() =>
    fetch(`${next.url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  for (let n = 15; n < 20; n++) await create(next.url, n);
  await until(async () => (await behind(next.url)) === 0);
  const { gaps } = await listed(place);
  expect(gaps).toEqual([]);
  const cwd = await project({ collections: [JSON.parse(posts)] });
  // The files are in the bucket of the cluster.
  const restored = await socle(["restore", place], { cwd });
  expect([restored.code, restored.stderr]).toEqual([0, ""]);
  const single = await serve(cwd);
  const answer = (await (await fetch(`${single.url}/api/posts`)).json()) as { items: { n: number }[] };
  expect(answer.items.map(({ n }) => n).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(await single.stop()).toBe(0);
  expect((await socle(["verify", place])).code).toBe(0);
});
