/** A cluster with faults: killed and paused instances, and an engine that is away. Nothing acknowledged is lost, and nobody reads what has ended. */
// Promises: C1, C3.
import { afterEach, expect, test } from "bun:test";
import { differences, numbersAt } from "./cluster-content.ts";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { broken, type Load, startLoad, type Write, write } from "./cluster-load.ts";
import { executable, post, until } from "./kit.ts";

const open = { read: "public", create: "public", update: "public", delete: "public" };
const posts = { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: open };
const password = "a long password";
const settings = { SERVICE_LIMITS_RATE_REGISTER: "off", SERVICE_LIMITS_RATE_LOGIN: "off" };
/** The time in which another instance leads, at most. */
const takeOverMs = 10_000;

/** A queue whose handler ends after the milliseconds of the payload; each call is a line of the log. */
const pause = `
export const queue = { concurrency: 4 };
export default async ({ payload, logger }) => {
  logger.info("pause " + payload.n);
  await new Promise((resolve) => setTimeout(resolve, payload.ms));
};
`;
const cluster = await startCluster(3, {
  files: { "collections/posts.json": JSON.stringify(posts), "jobs/pause.ts": pause },
  settings: { ...settings, SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password },
});
const { instances, engine } = cluster;
const histories: Write[] = [];
let users = 0;
const json = { "Content-Type": "application/json" };
/** A record, and spaces. */
const largeBody = `{"n":-1}${" ".repeat(200_000)}`;

async function tokenAt({ url }: TestInstance): Promise<string> {
  const answer = await post(`${url}/api/auth/register`, { email: `user${users++}@example.com`, password });
  expect(answer.ok).toBe(true);
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

async function meAt({ url }: TestInstance, token: string, ms = 15_000): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  // The connections of an instance whose role ends break.
  const answer = await fetch(`${url}/api/auth/me`, { headers, signal: AbortSignal.timeout(ms) }).catch(() => null);
  return answer?.status ?? 0;
}

function logout({ url }: TestInstance, token: string): Promise<Response> {
  return post(`${url}/api/auth/logout`, {}, { Authorization: `Bearer ${token}` });
}

async function ready(): Promise<void> {
  for (const { url } of instances)
    while ((await fetch(`${url}/health/ready`).catch(() => null))?.status !== 200) await Bun.sleep(50);
}

/** Waits for acknowledged writes that were sent from now on. */
async function acknowledged(load: Load, count: number): Promise<void> {
  const now = performance.now();
  await until(
    () => load.writes.filter((each) => each.sentAt > now && each.outcome === "acknowledged").length >= count,
    2 * takeOverMs,
  );
}

/** Ends the load, and looks whether each instance has exactly what the histories of all tests promise. */
async function check(load: Load): Promise<void> {
  await load.stop();
  histories.push(...load.writes);
  await ready();
  expect(await differences(instances)).toEqual([]);
  for (const instance of instances) expect(broken(histories, numbersAt(instance, "posts"))).toEqual([]);
}

// A test that fails leaves nothing stopped.
afterEach(async () => {
  engine.resume();
  if (!engine.isRunning) await engine.start();
  for (const { running, proxy } of instances) {
    running.signal("SIGCONT");
    proxy.flow();
  }
});

test("the leader is killed: another leads, nothing acknowledged is lost, and the killed instance returns", async () => {
  const leader = await cluster.leader();
  const survivors = await cluster.replicas();
  const load = startLoad(survivors);
  await acknowledged(load, 20);
  leader.running.signal("SIGKILL");
  await leader.running.exited;
  // A body that is too large to be kept is refused, as certainly not sent, when no connection to the killed leader is left; a small body waits for the
  // next leader.
  let told = "not known";
  while (told.includes("not known")) {
    const large = await fetch(`${survivors[0]?.url}/api/posts`, { method: "POST", headers: json, body: largeBody });
    told = `${large.status} ${await large.text()}`;
  }
  expect(told).toContain("nothing was changed");
  const [survivor = leader] = survivors;
  const small = await write(survivor, "/api/posts", { n: -1 - users });
  // Refused by an instance that begins to lead meanwhile.
  expect(small).not.toMatchObject({ outcome: "unknown" });
  histories.push(small);
  await acknowledged(load, 20);
  expect(await cluster.leader()).not.toBe(leader);
  await leader.start();
  await acknowledged(load, 20);
  await check(load);
  expect(await cluster.leader()).not.toBe(leader);
});

test("the leader is paused longer than the lease: afterwards the former leader reads nothing old, commits nothing, and follows", async () => {
  const leader = await cluster.leader();
  const others = await cluster.replicas();
  const [other] = others;
  if (other === undefined) throw new Error("The cluster has no replica");
  const tokens = await Promise.all([0, 1, 2].map(() => tokenAt(other)));
  const load = startLoad(others);
  await acknowledged(load, 10);
  leader.running.signal("SIGSTOP");
  // Requests that wait in the sockets of the paused leader.
  const waiting = [0, 1, 2].map((n) => write(leader, "/api/posts", { n: -1 - n - users }));
  await acknowledged(load, 10);
  expect(await cluster.leader()).not.toBe(leader);
  for (const token of tokens) expect((await logout(other, token)).status).toBe(204);
  const early = tokens.map((token) => meAt(leader, token));
  leader.running.signal("SIGCONT");
  const statuses = await Promise.all([...early, ...tokens.map((token) => meAt(leader, token))]);
  expect(statuses).not.toContain(200);
  histories.push(...(await Promise.all(waiting)));
  await check(load);
  expect(await meAt(leader, tokens[0] ?? "")).toBe(401);
  expect(await cluster.leader()).not.toBe(leader);
});

test("a replica is paused: a logout gets its response when the right of the replica has ended, and the replica never accepts the token", async () => {
  const leader = await cluster.leader();
  const [paused] = await cluster.replicas();
  if (paused === undefined) throw new Error("The cluster has no replica");
  const token = await tokenAt(leader);
  expect(await meAt(paused, token)).toBe(200);
  const load = startLoad([leader]);
  paused.running.signal("SIGSTOP");
  const early = [0, 1, 2].map(() => meAt(paused, token, 60_000));
  expect((await logout(leader, token)).status).toBe(204);
  paused.running.signal("SIGCONT");
  expect(await Promise.all([...early, meAt(paused, token)])).not.toContain(200);
  await check(load);
  expect(await meAt(paused, token)).toBe(401);
});

test("the leader alone cannot reach the engine, and the replicas have left: another leads, and the old leader serves no more", async () => {
  const old = await cluster.leader();
  const [next, other] = await cluster.replicas();
  if (next === undefined || other === undefined) throw new Error("The cluster has too few replicas");
  const token = await tokenAt(old);
  for (const { running } of [next, other]) expect(await running.stop()).toBe(0);
  old.proxy.stall();
  await next.start();
  while ((await cluster.leader()) !== next) await Bun.sleep(50);
  // The connections of a replica break when the replica becomes the leader.
  while ((await meAt(next, token)) !== 200) await Bun.sleep(50);
  expect((await logout(next, token)).status).toBe(204);
  expect(await meAt(old, token)).not.toBe(200);
  old.proxy.flow();
  await other.start();
  await ready();
  expect(await meAt(old, token)).toBe(401);
  expect(await differences(instances)).toEqual([]);
});

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
        await Bun.sleep(20);
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

test("an instance that waits for the leader at the start ends by a signal", async () => {
  const [waiting, other] = await cluster.replicas();
  const leader = await cluster.leader();
  if (waiting === undefined || other === undefined) throw new Error("no replica");
  await waiting.running.stop();
  for (const { running } of [leader, other]) running.signal("SIGSTOP");
  const env = { PATH: process.env["PATH"] ?? "", HOME: waiting.folder, ...waiting.env };
  const child = Bun.spawn([executable], { cwd: waiting.folder, env, stdout: "ignore", stderr: "ignore" });
  // The instance hears signals before the instance joins the cluster.
  const client = engine.client();
  const joined = () => client`SELECT 1 FROM socle_instances WHERE address = ${waiting.url} AND expires > now()`;
  while ((await joined()).length === 0) await Bun.sleep(20);
  // Without the engine, the instance cannot lead itself, and waits for ever.
  engine.pause();
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  engine.resume();
  for (const { running } of [leader, other]) running.signal("SIGCONT");
  await waiting.start();
  await ready();
  expect(await differences(instances)).toEqual([]);
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
