/** The mirror of a cluster of three instances: SQL tools see the records of a position, also when the leader is killed under writes. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { post, socle } from "./kit.ts";

const posts = JSON.stringify({
  name: "posts",
  fields: [
    { name: "n", type: "integer" },
    { name: "body", type: "string" },
    { name: "tags", type: "string", multiple: true },
    { name: "at", type: "datetime" },
  ],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
});
const cluster = await startCluster(3, {
  files: { "collections/posts.json": posts },
  settings: { SERVICE_CLUSTER_MIRROR: "true", SERVICE_METRICS_TOKEN: "scrape-me" },
});
const client = cluster.engine.client();
const [{ schema }] = await client`SELECT nspname AS schema FROM pg_namespace WHERE nspname LIKE 'socle_%'`;

interface Post {
  id: string;
  n: number;
  body: string;
  tags: string[];
  at: string | null;
}

/** The records of the mirror and the position of the records, in a single snapshot. */
async function mirrored(): Promise<{ position: number; state: string; posts: Post[] }> {
  const [row] = await client.unsafe(`SELECT position::int, state,
    (SELECT coalesce(json_agg(p ORDER BY p.id COLLATE "C"), '[]') FROM (SELECT id, n, body, tags, to_char(at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at FROM "${schema}".posts) p) AS posts FROM "${schema}"._mirror`);
  return row;
}

/** The records of an instance and the position of the records, as the file has both. */
function stored({ folder }: TestInstance): { position: number; posts: Post[] } {
  using file = new Driver(`${folder}/socle.db`, { readonly: true });
  file.run("BEGIN");
  const position = file.query<{ position: number }, []>("SELECT position FROM _position").get()?.position ?? 0;
  const rows = file.query<Post & { tags: string }, []>("SELECT id, n, body, tags, at FROM posts ORDER BY id").all();
  return { position, posts: rows.map((row) => ({ ...row, tags: JSON.parse(row.tags) })) };
}

/** Writes with random records until told to stop; a write may fail while no instance leads. */
async function write(instance: TestInstance, { until, random }: { until: () => boolean; random: () => number }) {
  const mine: string[] = [];
  let written = 0;
  while (!until()) {
    const id = mine[Math.floor(random() * mine.length)];
    const kind = random();
    const body = { n: written, body: `'"\\${"\u{1f600}".repeat(written % 3)}`, tags: [`t${written}`, "x"] };
    const url = `${instance.url}/api/posts`;
    const at = new Date(written * 1_000_000_007).toISOString();
    const answer = await (kind < 0.6 || id === undefined
      ? post(url, { ...body, at })
      : fetch(`${url}/${id}`, {
          method: kind < 0.8 ? "PUT" : "DELETE",
          headers: { "Content-Type": "application/json" },
          ...(kind < 0.8 && { body: JSON.stringify(body) }),
        })
    ).catch(() => null);
    await Bun.sleep(10);
    if (answer === null || answer.status >= 300) continue;
    written += 1;
    if (answer.status === 201) mine.push(Object(await answer.json()).id);
    if (answer.status === 204 && id !== undefined) mine.splice(mine.indexOf(id), 1);
  }
  return written;
}

async function expectEqual(instances: readonly TestInstance[]): Promise<void> {
  for (;;) {
    const [mirror, files] = [await mirrored(), instances.map(stored)];
    if (mirror.state !== "whole" || files.some(({ position }) => position !== mirror.position)) {
      await Bun.sleep(50);
      continue;
    }
    for (const file of files) expect(mirror.posts).toEqual(file.posts);
    return;
  }
}

test("the mirror goes on with the next leader, and has the records of the instances in the end", async () => {
  const random = randomNumbers(randomSeed("mirror"));
  let isOver = false;
  const killed = await cluster.leader();
  const others = cluster.instances.filter((instance) => instance !== killed);
  const writing = cluster.instances.map((instance) => write(instance, { until: () => isOver, random }));
  const enough = async (from: number): Promise<void> => {
    while ((await mirrored()).position < from + 100) await Bun.sleep(20);
  };
  await enough((await mirrored()).position);
  const [{ id: table }] = await client.unsafe(`SELECT '"${schema}".posts'::regclass::oid::int AS id`);
  killed.running.signal("SIGKILL");
  const before = (await mirrored()).position;
  await enough(before);
  isOver = true;
  const written = await Promise.all(writing);
  expect(Math.min(...written.filter((_, i) => cluster.instances[i] !== killed))).toBeGreaterThan(0);
  await expectEqual(others);
  expect((await mirrored()).posts.length).toBeGreaterThan(0);
  // The next leader has gone on with the table of the former leader.
  const [{ id: now }] = await client.unsafe(`SELECT '"${schema}".posts'::regclass::oid::int AS id`);
  expect(now).toBe(table);
  const leader = await cluster.leader();
  const status = await socle(["cluster", "status"], { cwd: leader.folder, env: leader.env });
  expect(status.stdout).toContain(`Mirror: ${schema}, whole, position `);
  for (const instance of others) {
    const answer = await fetch(`${instance.url}/metrics`, { headers: { Authorization: "Bearer scrape-me" } });
    const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("socle_cluster_mirror_whole"));
    expect(lines).toEqual(instance === leader ? ["socle_cluster_mirror_whole 1"] : []);
  }
});
