/** A cluster with faults: killed and paused instances. Nothing acknowledged is lost, and nobody reads what has ended. */
// Promises: C1, C3.
import { expect, test } from "bun:test";
import { differences } from "./cluster-content.ts";
import { acknowledged, logout, meAt, startFaulty, tokenAt } from "./cluster-faults-kit.ts";
import { startLoad, write } from "./cluster-load.ts";
import { executable } from "./kit.ts";

const cluster = await startFaulty();
const { instances, engine, histories, ready, check } = cluster;
const json = { "Content-Type": "application/json" };
/** A record, and spaces. */
const largeBody = `{"n":-1}${" ".repeat(200_000)}`;

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
    await Bun.sleep(20);
  }
  expect(told).toContain("nothing was changed");
  const [survivor = leader] = survivors;
  const small = await write(survivor, "/api/posts", { n: -1 });
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
  const waiting = [0, 1, 2].map((n) => write(leader, "/api/posts", { n: -2 - n }));
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
