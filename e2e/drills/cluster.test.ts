/** Drills of a cluster: the leader is killed, the bucket is away, PostgreSQL is set back. */
// Promises: C1.
import { expect, test } from "bun:test";
import { startS3OfRun } from "../../packages/server/test/s3-server.ts";
import { startTcpProxy } from "../../packages/server/test/tcp-proxy.ts";
import { differences, numbersAt } from "../cluster-content.ts";
import { copyData, setBack } from "../cluster-engine.ts";
import { acknowledged, startFaulty } from "../cluster-faults-kit.ts";
import type { TestInstance } from "../cluster-kit.ts";
import { startLoad, write } from "../cluster-load.ts";
import { post } from "../kit.ts";
import { type Finished, runCommand } from "../service-process.ts";
import { Drill, readyAt } from "./drill.ts";

const longest = 180_000;
const bucketWay = await startTcpProxy(Number(new URL(await startS3OfRun()).port));
const cluster = await startFaulty({ settings: { SERVICE_S3_ENDPOINT: `http://127.0.0.1:${bucketWay.port}` } });
const { instances, engine } = cluster;

async function roles(): Promise<readonly [TestInstance, TestInstance, TestInstance]> {
  await cluster.ready();
  const [one, two] = await cluster.replicas();
  if (one === undefined || two === undefined) throw new Error("The cluster has too few replicas");
  return [await cluster.leader(), one, two];
}

test(
  "the machine of the leader is lost",
  async () => {
    const [leader, one, two] = await roles();
    const drill = new Drill("leader killed", [leader, one, two]);
    const load = startLoad([one, two]);
    await acknowledged(load, 20);
    drill.say("The leader is killed under load.");
    leader.running.signal("SIGKILL");
    const killedAt = performance.now();
    await drill.wait("Another instance acknowledges writes", () =>
      load.writes.some((each) => each.sentAt > killedAt && each.outcome === "acknowledged"),
    );
    expect((await drill.run(one, ["cluster", "status"])).code).toBe(0);
    expect(await cluster.leader()).not.toBe(leader);
    drill.say("The machine does not come back: the cluster forgets the instance.");
    await drill.wait("The row of the lost instance has run out", async () => /gone/.test((await statusAt(one)).stdout));
    expect((await drill.run(one, ["cluster", "remove", leader.url])).code).toBe(0);
    drill.say("A new machine with the same configuration starts, without a database.");
    await Bun.$`rm -f ${leader.folder}/socle.db ${leader.folder}/socle.db-wal ${leader.folder}/socle.db-shm`;
    await leader.start();
    await drill.wait("The new instance is ready", async () => (await readyAt(leader)).status === 200);
    expect((await drill.run(one, ["cluster", "status"])).stdout).not.toContain("gone");
    await cluster.check(load);
    drill.say("Compared: each instance has every acknowledged write once.");
    drill.end();
  },
  longest,
);

function statusAt({ folder, env }: TestInstance): Promise<Finished> {
  return runCommand(["cluster", "status"], { cwd: folder, env: { ...env } });
}

test(
  "the bucket is away",
  async () => {
    const [leader, one, two] = await roles();
    const drill = new Drill("bucket away", [leader, one, two]);
    const load = startLoad(instances);
    await acknowledged(load, 20);
    drill.say("The bucket does not answer any more.");
    bucketWay.stall();
    await drill.wait("The status names the bucket", async () =>
      /storage s3:\S+ does not answer/.test((await statusAt(one)).stdout),
    );
    await drill.run(one, ["cluster", "status"]);
    expect((await readyAt(leader)).status).toBe(200);
    const refused = await drill.run(one, ["cluster", "snapshot"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("No snapshot was made")]);
    await acknowledged(load, 20);
    drill.say("Records are read and written meanwhile.");
    bucketWay.cut();
    bucketWay.flow();
    drill.say("The bucket is back.");
    await drill.wait("The status names no problem", async () => !/storage s3/.test((await statusAt(one)).stdout));
    expect((await drill.run(one, ["cluster", "snapshot"])).code).toBe(0);
    await cluster.check(load);
    drill.end();
  },
  longest,
);

test(
  "PostgreSQL is set back to an earlier moment",
  async () => {
    const [leader, one, two] = await roles();
    const drill = new Drill("engine set back", [leader, one, two]);
    expect(await differences(instances)).toEqual([]);
    await copyData(engine);
    await cluster.ready();
    const later: number[] = [];
    for (let n = 1_000_000; n < 1_000_005; n++) {
      const done = await write(await cluster.leader(), "/api/posts", { n });
      if (done.outcome === "acknowledged") later.push(n);
    }
    expect(later.length).toBeGreaterThan(0);
    expect(await differences(instances)).toEqual([]);
    drill.say(`PostgreSQL is restored to a moment before the last ${later.length} writes.`);
    await setBack(engine);
    await drill.wait("No instance serves any more", async () =>
      (await Promise.all(instances.map((each) => readyAt(each)))).every(({ status }) => status === 503),
    );
    drill.log(leader.running.output(), /Restore PostgreSQL to its last state/);
    await drill.wait("The status names each instance", async () => {
      const { stdout } = await statusAt(one);
      return instances.every(({ url }) => stdout.includes(`  ${url}: `)) && /no leader/.test(stdout);
    });
    expect((await drill.run(one, ["cluster", "status"])).code).toBe(1);
    drill.say("PostgreSQL has no later state: the state of the instances counts. All instances are stopped.");
    for (const { running } of instances) expect(await running.stop()).toBe(0);
    expect((await drill.run(leader, ["cluster", "adopt"])).code).toBe(1);
    expect((await drill.run(leader, ["cluster", "adopt", "--force"])).code).toBe(0);
    for (const each of [leader, one, two]) await each.start();
    await drill.wait("The instances are ready again", async () =>
      (await Promise.all(instances.map((each) => readyAt(each)))).every(({ status }) => status === 200),
    );
    expect(await differences(instances)).toEqual([]);
    for (const each of instances) for (const n of later) expect(numbersAt(each, "posts")).toContain(n);
    drill.say("Compared: each instance has the last writes.");

    drill.say("The same again; this time the state of PostgreSQL counts.");
    await copyData(engine);
    await cluster.ready();
    const dropped = await post(`${(await cluster.leader()).url}/api/posts`, { n: 2_000_000 });
    expect(dropped.status).toBe(201);
    expect(await differences(instances)).toEqual([]);
    await setBack(engine);
    await drill.wait("No instance serves any more", async () =>
      (await Promise.all(instances.map((each) => readyAt(each)))).every(({ status }) => status === 503),
    );
    for (const each of [leader, one, two]) {
      expect(await each.running.stop()).toBe(0);
      expect((await drill.run(each, ["cluster", "rejoin"])).code).toBe(0);
      await each.start();
    }
    await drill.wait("The instances are ready again", async () =>
      (await Promise.all(instances.map((each) => readyAt(each)))).every(({ status }) => status === 200),
    );
    expect(await differences(instances)).toEqual([]);
    for (const each of instances) {
      expect(numbersAt(each, "posts")).not.toContain(2_000_000);
      for (const n of later) expect(numbersAt(each, "posts")).toContain(n);
    }
    drill.end();
  },
  longest,
);
