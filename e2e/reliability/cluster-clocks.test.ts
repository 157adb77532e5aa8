/**
 * A cluster whose clocks are an hour apart: the leases, the order of records and events, and everything that was acknowledged stay right, whichever
 * instance leads. Times of records are the leader's.
 */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { differences, numbersAt } from "../cluster-content.ts";
import { startCluster, type TestInstance } from "../cluster-kit.ts";
import { broken, type Write, write } from "../cluster-load.ts";
import { post, temporaryFolder } from "../kit.ts";
import { hourMs } from "./clocks-world.ts";
import { Control } from "./tracer/control.ts";
import { serveTraced } from "./tracer/traced.ts";

const open = { read: "public", create: "public" };
const posts = { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: open };
const settings = { SERVICE_AUTH_ACCESS_TOKEN_TTL: "5h", SERVICE_LIMITS_RATE_REGISTER: "off" };
const cluster = await startCluster(3, { files: { "collections/posts.json": JSON.stringify(posts) }, settings });
const [exact, ahead, behind] = cluster.instances as readonly [TestInstance, TestInstance, TestInstance];
await startAt(ahead, hourMs);
await startAt(behind, -hourMs);
const instances = [exact, ahead, behind];
const password = "a long password";
const writes: Write[] = [];
const tokens: string[] = [];

/** Starts an instance again, with a clock that is ahead. */
async function startAt(instance: TestInstance, offsetMs: number): Promise<void> {
  await instance.running.stop();
  const output = join(temporaryFolder(), "tracer");
  mkdirSync(output, { recursive: true });
  new Control(output).clockOffsetMs = offsetMs;
  instance.running = await serveTraced(instance.folder, { output, clock: true }, { env: instance.env });
}

async function createdAt({ url }: TestInstance, { id, position }: Write): Promise<number> {
  const response = await fetch(`${url}/api/posts/${id}`, { headers: { "Socle-Position": String(position) } });
  expect(response.status).toBe(200);
  return Date.parse(((await response.json()) as { createdAt: string }).createdAt);
}

/** Writes and signs up at each instance; each write has the time of the leader, and each token counts at each instance. */
async function use(leader: TestInstance): Promise<void> {
  expect(await cluster.leader()).toBe(leader);
  const offset = leader === ahead ? hourMs : leader === behind ? -hourMs : 0;
  let newest = 0;
  for (const instance of instances) {
    const before = Date.now() + offset;
    const made = await write(instance, "/api/posts", { n: writes.length });
    expect(made.told).toBe("");
    writes.push(made);
    const time = await createdAt(instance, made);
    expect(Math.abs(time - before)).toBeLessThan(60_000);
    const answer = await post(`${instance.url}/api/auth/register`, {
      email: `u${tokens.length}@example.com`,
      password,
    });
    expect(answer.status).toBe(201);
    newest = Number(answer.headers.get("socle-position"));
    tokens.push(((await answer.json()) as { accessToken: string }).accessToken);
  }
  for (const token of tokens)
    for (const { url } of instances) {
      const headers = { Authorization: `Bearer ${token}`, "Socle-Position": String(newest) };
      expect((await fetch(`${url}/api/auth/me`, { headers })).status).toBe(200);
    }
}

/** Has an instance lead: the others cannot, while the instance takes the lease. */
async function lead(instance: TestInstance): Promise<void> {
  const others = instances.filter((each) => each !== instance);
  for (const { running } of others) running.signal("SIGSTOP");
  while ((await cluster.leader()) !== instance) await Bun.sleep(50);
  for (const { running } of others) running.signal("SIGCONT");
  for (const { url } of instances)
    while ((await fetch(`${url}/health/ready`).catch(() => null))?.status !== 200) await Bun.sleep(50);
}

test("clocks an hour apart: each instance leads in turn, and nothing acknowledged is lost, doubled or out of order", async () => {
  for (const leader of [exact, ahead, behind, exact]) {
    await lead(leader);
    await use(leader);
  }
  expect(await differences(instances)).toEqual([]);
  for (const instance of instances) {
    expect(broken(writes, numbersAt(instance, "posts"))).toEqual([]);
    type Post = { n: number; createdAt: string };
    const { items } = (await (await fetch(`${instance.url}/api/posts?limit=200`)).json()) as { items: Post[] };
    expect(items.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(writes.map((_, n) => n));
    // The newest first, by the clocks of the leaders; of one time, the record that was made last.
    const wanted = items.toSorted((a, b) =>
      a.createdAt === b.createdAt ? b.n - a.n : a.createdAt < b.createdAt ? 1 : -1,
    );
    expect(items).toEqual(wanted);
    expect(items.map(({ n }) => n)).not.toEqual(writes.map((_, n) => n).toReversed());
  }
});
