/** A cluster whose engine is away: for all instances, and under load. Nothing acknowledged is lost, and nobody reads what has ended. */
// Promises: C1, C3.
import { expect, test } from "bun:test";
import { differences } from "./cluster-content.ts";
import { acknowledged, logout, meAt, password, startFaulty, takeOverMs, tokenAt } from "./cluster-faults-kit.ts";
import { startLoad, type Write } from "./cluster-load.ts";
import { post, until } from "./kit.ts";

/** A queue whose handler ends after the milliseconds of the payload; each call is a line of the log. */
const pause = `
export const queue = { concurrency: 4 };
export default async ({ payload, logger }) => {
  logger.info("pause " + payload.n);
  await new Promise((resolve) => setTimeout(resolve, payload.ms));
};
`;
const cluster = await startFaulty({
  files: { "jobs/pause.ts": pause },
  settings: { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password },
});
const { instances, engine, ready, check } = cluster;

test("the engine is away for all, and a replica starts again with a way to the engine: a logout gets its response when no other instance serves", async () => {
  const old = await cluster.leader();
  const [next, other] = await cluster.replicas();
  if (next === undefined || other === undefined) throw new Error("The cluster has too few replicas");
  const token = await tokenAt(old);
  for (const each of instances) while ((await meAt(each, token)) !== 200) await Bun.sleep(50);
  for (const { proxy } of instances) proxy.stall();
  const isOver = performance.now() + 7_000;
  // Longer than the lease: the leader goes on, because all instances say that the engine is away.
  while (performance.now() < isOver) {
    for (const each of instances) expect(await meAt(each, token)).toBe(200);
    await Bun.sleep(50);
  }
  next.running.signal("SIGKILL");
  await next.running.exited;
  next.proxy.cut();
  next.proxy.flow();
  await next.start();
  while ((await meAt(next, token)) !== 200 || (await cluster.leader()) !== next) await Bun.sleep(50);
  expect((await logout(next, token)).status).toBe(204);
  for (const each of [old, other]) expect(await meAt(each, token)).not.toBe(200);
  for (const { proxy } of instances) proxy.flow();
  await ready();
  expect(await differences(instances)).toEqual([]);
});

for (const fault of ["stop", "pause"] as const)
  test(`the engine is away by ${fault}: reads go on, writes are refused, and all heals by itself`, async () => {
    const load = startLoad(instances, { width: 3 });
    await acknowledged(load, 10);
    await (fault === "stop" ? engine.stop() : engine.pause());
    const refused = (): Write[] => load.writes.filter(({ told }) => told.includes("503 "));
    const before = refused().length;
    await until(() => refused().length > before + 6, 2 * takeOverMs);
    // Longer than the lease: the right to serve goes on without the engine.
    const end = performance.now() + 7_000;
    const statuses = new Map<number, number>();
    while (performance.now() < end)
      for (const { url } of instances) {
        const { status } = await fetch(`${url}/api/posts?limit=1`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await Bun.sleep(50);
      }
    expect([...statuses.keys()]).toEqual([200]);
    // The token of no session: a replica cannot look whether the leader knows the session.
    for (const instance of instances) expect(await meAt(instance, "of no session")).toBe(401);
    const answer = await post(`${instances[0]?.url}/api/posts`, { n: -1_000 });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
    await (fault === "stop" ? engine.start() : engine.resume());
    await acknowledged(load, 10);
    await check(load);
  });

test("runs of a queue that end while the engine is away are over afterwards, and their handler is called once", async () => {
  const leader = await cluster.leader();
  const signIn = await post(`${leader.url}/api/auth/login`, { email: "admin@example.com", password });
  const headers = { Authorization: `Bearer ${((await signIn.json()) as { accessToken: string }).accessToken}` };
  const runs = [1, 2, 3, 4];
  for (const n of runs) {
    const answer = await post(`${leader.url}/api/admin/jobs/pause/enqueue`, { payload: { n, ms: 1_000 } }, headers);
    expect(answer.status).toBe(202);
  }
  const calls = (): string[] => instances.flatMap((each) => each.output().match(/pause \d+/g) ?? []).sort();
  await until(() => calls().length === runs.length);
  await engine.stop();
  // The handlers end meanwhile.
  await Bun.sleep(3_000);
  await engine.start();
  await ready();
  const waiting = async (): Promise<number> => {
    const answer = await fetch(`${(await cluster.leader()).url}/api/admin/jobs/pause/queue`, { headers });
    return answer.ok ? ((await answer.json()) as { items: unknown[] }).items.length : -1;
  };
  const end = performance.now() + 60_000;
  while ((await waiting()) !== 0) {
    if (performance.now() > end) throw new Error(`${await waiting()} runs wait 60 s after the engine came back`);
    await Bun.sleep(100);
  }
  // A leader that stays writes the ends, and calls no handler again.
  if ((await cluster.leader()) === leader) expect(calls()).toEqual(runs.map((n) => `pause ${n}`));
});

test("the engine is restarted under load: nothing acknowledged is lost or doubled", async () => {
  const load = startLoad(instances);
  for (let round = 0; round < 4; round++) {
    await acknowledged(load, 20);
    await (round % 2 === 0 ? engine.restart() : engine.stop("immediate").then(() => engine.start()));
  }
  await acknowledged(load, 20);
  await check(load);
});
