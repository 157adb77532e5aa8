/** Drill of a cluster: a rolling upgrade by the guide, to a version with other tables, and the way back. */
// Promises: C1.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { numbersAt } from "../cluster-content.ts";
import { acknowledged, startFaulty } from "../cluster-faults-kit.ts";
import type { TestInstance } from "../cluster-kit.ts";
import { startLoad } from "../cluster-load.ts";
import { post, serve, temporaryFolder } from "../kit.ts";
import { newerProgram, newerVersion } from "../newer-program.ts";
import { Drill, type Place, readyAt } from "./drill.ts";

const cluster = await startFaulty();
const { instances } = cluster;
const newer = newerProgram();

function instanceAt(address: string): TestInstance {
  const found = instances.find(({ url }) => url === address);
  if (found === undefined) throw new Error(`${address} is no instance`);
  return found;
}

/** The version of a live instance, as the journal knows the version. */
async function versionOf({ url }: TestInstance): Promise<string> {
  const client = cluster.engine.client();
  const [row] = await client`SELECT version FROM socle_instances WHERE address = ${url} AND expires > now()`;
  return row?.version ?? "";
}

test("an upgrade by the guide under load, and the way back", async () => {
  await cluster.ready();
  const leader = await cluster.leader();
  const others = await cluster.replicas();
  const [first] = others;
  if (first === undefined) throw new Error("The cluster has no replica");
  const drill = new Drill("upgrade", [leader, ...others]);
  const place: Place = leader;
  const backup = join(temporaryFolder(), "before.tar.zst");
  drill.rename(backup, "/mnt/backups/before.tar.zst");
  for (let n = 1_000_000; n < 1_000_010; n++) expect((await post(`${leader.url}/api/posts`, { n })).status).toBe(201);
  expect((await drill.run(leader, ["backup", backup])).code).toBe(0);
  const kept = numbersAt(leader, "posts");
  expect(kept).toHaveLength(10);
  const load = startLoad(instances);
  await acknowledged(load, 10);
  drill.say("The guide runs with the new executable, in the project folder.");
  const guide = () => drill.run(place, ["cluster", "upgrade", "--instances", "3"], { program: newer });
  const replaced = new Set<TestInstance>();
  const starts: Promise<void>[] = [];
  let handOvers = 0;
  for (let step = await guide(); step.code !== 0; step = await guide()) {
    // A wait ends by itself.
    expect([3, 4]).toContain(step.code);
    const lead = /^Next: (socle cluster lead (\S+))/m.exec(step.stdout)?.[2];
    const replace = /^Next: stop (\S+),/m.exec(step.stdout)?.[1];
    if (lead !== undefined) {
      handOvers += 1;
      const done = await drill.run(place, ["cluster", "lead", lead], { program: newer });
      expect([done.code, done.stderr]).toEqual([0, ""]);
    } else if (replace !== undefined) {
      const instance = instanceAt(replace);
      // The guide names no instance twice, and the leader never.
      expect(replaced.has(instance)).toBe(false);
      expect(await cluster.leader()).not.toBe(instance);
      replaced.add(instance);
      expect(await instance.running.stop()).toBe(0);
      drill.say(`${replace} starts with the new executable.`);
      // An instance that waits for a leader of its version does not listen yet.
      starts.push(instance.start(newer));
      await drill.wait("The instance tells of itself", async () => (await versionOf(instance)) === newerVersion);
    } else await Bun.sleep(1_000);
    await acknowledged(load, 5);
  }
  expect([replaced.size, handOvers]).toEqual([3, 1]);
  await Promise.all(starts);
  await cluster.check(load);
  drill.say("Compared: each instance has every acknowledged write once.");

  drill.say("The way back: the older version refuses the newer tables.");
  for (const { running } of instances) expect(await running.stop()).toBe(0);
  const refused = await drill.run(leader, ["serve"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("too old")]);
  drill.say("The backup from before the upgrade becomes a new cluster, under another cluster.name.");
  const env = { ...leader.env, SERVICE_CLUSTER_NAME: "shop-back" };
  const back: Place = { folder: leader.folder, env };
  expect((await drill.run(back, ["restore", backup, "--force"])).code).toBe(0);
  expect((await drill.run(back, ["cluster", "init"])).code).toBe(0);
  const again = await serve(leader.folder, { env });
  await drill.wait("The older version is ready", async () => (await readyAt(leader)).status === 200);
  expect(numbersAt(leader, "posts")).toEqual(kept);
  expect((await post(`${again.url}/api/posts`, { n: -1 })).status).toBe(201);
  expect(await again.stop()).toBe(0);
  drill.end();
}, 600_000);
