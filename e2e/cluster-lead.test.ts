/** Commands to a running cluster: a snapshot now, the hand-over of the lead to a named instance under load, and the removal of an instance that is gone. */
// Promises: C1.
import { expect, test } from "bun:test";
import { acknowledged, startFaulty } from "./cluster-faults-kit.ts";
import type { TestInstance } from "./cluster-kit.ts";
import { startLoad } from "./cluster-load.ts";
import { longTest, post, singleService, until } from "./kit.ts";
import { type Finished, runCommand } from "./service-process.ts";

singleService("cluster");

const cluster = await startFaulty();
const { instances } = cluster;
const [first] = instances;
if (first === undefined) throw new Error("The cluster has no instance");

function command({ folder, env }: TestInstance, ...args: string[]): Promise<Finished> {
  return runCommand(["cluster", ...args], { cwd: folder, env: { ...env } });
}

interface Status {
  readonly term: number;
  readonly position: number;
  readonly instances: readonly { address: string; isLive: boolean; problem: string | null }[];
  readonly snapshots: readonly { name: string; position: number; bytes: number }[];
}

async function status(): Promise<Status> {
  return JSON.parse((await command(first as TestInstance, "status", "--json")).stdout) as Status;
}

async function pair(): Promise<readonly [TestInstance, TestInstance]> {
  const [one, two] = await cluster.replicas();
  if (one === undefined || two === undefined) throw new Error("The cluster has too few replicas");
  return [one, two];
}

test("a snapshot now: from any instance, with every acknowledged write, once for a state", async () => {
  const [replica] = await pair();
  const created = await post(`${replica.url}/api/posts`, { n: -1 });
  expect(created.status).toBe(201);
  const before = await status();
  const made = await command(replica, "snapshot", "--json");
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const snapshot = JSON.parse(made.stdout) as { name: string; position: number; bytes: number };
  expect(snapshot.position).toBeGreaterThanOrEqual(before.position);
  expect(snapshot.bytes).toBeGreaterThan(0);
  expect((await status()).snapshots[0]).toMatchObject(snapshot);
  // The state has not changed, unless the leader wrote by itself meanwhile.
  const again = JSON.parse((await command(replica, "snapshot", "--json")).stdout) as typeof snapshot;
  if ((await status()).position === snapshot.position) expect(again).toMatchObject(snapshot);
  const text = await command(replica, "snapshot");
  expect([text.code, text.stdout]).toEqual([
    0,
    expect.stringMatching(/^Snapshot snapshot-\S+ {2}position \d+ {2}\S+ \S+ {2}\S+Z\n$/),
  ]);
});

test("the lead goes from instance to instance under load: nothing acknowledged is lost, and the pause is told", async () => {
  await cluster.ready();
  const load = startLoad(instances);
  for (let round = 0; round < 2; round++) {
    await acknowledged(load, 20);
    const before = await status();
    const [target] = await pair();
    const done = await command(first, "lead", target.url);
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(new RegExp(`^${target.url} leads; writes were paused for \\d+\\.\\d s\\.\\n$`));
    expect(await cluster.leader()).toBe(target);
    // The hand-over ends a term, and the named instance begins the next.
    expect((await status()).term).toBeGreaterThanOrEqual(before.term + 2);
    await acknowledged(load, 20);
  }
  const same = await cluster.leader();
  expect(await command(first, "lead", same.url)).toMatchObject({ code: 0, stdout: `${same.url} leads already.\n` });
  await cluster.check(load);
}, 180_000);

longTest(
  "no hand-over to an instance that is unknown, gone, paused, or behind; the leader leads on, and writes go on",
  async () => {
    await cluster.ready();
    const leader = await cluster.leader();
    const [paused, stopped] = await pair();
    const load = startLoad([leader]);
    const { term } = await status();
    const refused = async (target: string, reason: RegExp): Promise<void> => {
      await acknowledged(load, 5);
      const done = await command(first, "lead", target);
      expect([done.code, done.stdout, done.stderr]).toEqual([2, "", expect.stringMatching(reason)]);
      await acknowledged(load, 5);
    };
    await refused("http://127.0.0.1:1", /is no running instance; running: /);
    paused.running.signal("SIGSTOP");
    await refused(paused.url, /does not answer this leader|is no running instance/);
    paused.running.signal("SIGCONT");
    await cluster.ready();
    // The instance answers, and cannot read the journal.
    paused.proxy.stall();
    await refused(
      paused.url,
      /did not run the last commits within 2000 ms|commits behind; allowed: 1000|is no running instance/,
    );
    paused.proxy.cut();
    paused.proxy.flow();
    stopped.running.signal("SIGKILL");
    await stopped.running.exited;
    await until(async () =>
      (await status()).instances.some(({ address, isLive }) => address === stopped.url && !isLive),
    );
    await refused(stopped.url, /is no running instance/);
    expect(await cluster.leader()).toBe(leader);
    expect((await status()).term).toBe(term);
    await stopped.start();
    await cluster.check(load);
  },
  180_000,
);

longTest(
  "an instance that is gone is removed, and a living instance is not",
  async () => {
    const leader = await cluster.leader();
    const [gone, living] = await pair();
    for (const { url } of [leader, living])
      expect(await command(first, "remove", url)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/lives; stop the instance|leads the cluster/),
      });
    expect(await command(first, "remove", "http://127.0.0.1:1")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is no instance of the cluster"),
    });
    // The row counts no more, and the process answers: the instance only lost the way to PostgreSQL.
    gone.proxy.stall();
    await until(async () => (await status()).instances.some(({ address, isLive }) => address === gone.url && !isLive));
    expect(await command(first, "remove", gone.url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("lives"),
    });
    gone.running.signal("SIGKILL");
    await gone.running.exited;
    await until(async () => (await command(first, "remove", gone.url)).code === 0);
    expect((await status()).instances.map(({ address }) => address)).not.toContain(gone.url);
    expect(await command(first, "remove", gone.url)).toMatchObject({ code: 2 });

    // Without PostgreSQL, the leader waits for the word of each instance that it knows: not of the instance that was removed.
    const [one, two] = [leader, living];
    const reads = async ({ url }: TestInstance): Promise<number> =>
      (await fetch(`${url}/api/posts?limit=1`, { signal: AbortSignal.timeout(10_000) }).catch(() => null))?.status ?? 0;
    cluster.engine.pause();
    const end = performance.now() + 9_000;
    while (performance.now() < end) await Bun.sleep(100);
    expect([await reads(one), await reads(two)]).toEqual([200, 200]);
    cluster.engine.resume();
    gone.proxy.cut();
    gone.proxy.flow();
    await gone.start();
    await cluster.ready();
    // The rows of the others ended while the engine was paused: each counts again from the next renewal of its lease.
    await until(async () => (await status()).instances.filter(({ isLive }) => isLive).length === 3);
  },
  180_000,
);

longTest(
  "without a leader: no snapshot and no hand-over, and an instance that is gone is removed from the journal",
  async () => {
    const [gone] = instances.slice(-1);
    if (gone === undefined) throw new Error("no instance");
    gone.running.signal("SIGKILL");
    await gone.running.exited;
    for (const instance of instances) if (instance !== gone) expect(await instance.running.stop()).toBe(0);
    await until(async () => (await command(first, "status")).code === 1);
    for (const args of [["snapshot"], ["lead", gone.url]])
      expect(await command(first, ...args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("no instance leads"),
      });
    // The row of an instance that was killed counts for the time of a lease.
    await until(async () => (await command(first, "remove", gone.url)).code === 0);
    expect((await status()).instances).toEqual([]);
    for (const instance of instances) await instance.start();
    await cluster.ready();
  },
  180_000,
);
