/**
 * A cluster of three instances over PostgreSQL: writes at any instance, reads and sockets everywhere, rights that end, and another leader after
 * a failure. The tests share the cluster, so each leaves three instances that serve.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { ServerFrame } from "@socle/protocol";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { post, until } from "./kit.ts";

const adminEmail = "admin@example.com";
const password = "a long password";
const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
    { name: "isOpen", type: "boolean" },
    { name: "number", type: "integer", sequence: true },
  ],
  permissions: { read: "public", create: "public", update: "public", delete: "authenticated" },
};
const cluster = await startCluster(3, {
  files: { "collections/posts.json": JSON.stringify(posts) },
  settings: {
    SERVICE_ADMIN_EMAIL: adminEmail,
    SERVICE_ADMIN_PASSWORD: password,
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_REGISTER: "off",
  },
});
const { instances } = cluster;

async function login({ url }: TestInstance): Promise<string> {
  // A connection that was kept open may end with a change of the role.
  const ask = () => post(`${url}/api/auth/login`, { email: adminEmail, password });
  const answer = await ask().catch(ask);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

interface Created {
  readonly id: string;
  readonly position: number;
}

async function create({ url }: TestInstance, body: object): Promise<Created> {
  const answer = await post(`${url}/api/posts`, body);
  expect(answer.status).toBe(201);
  const { id } = (await answer.json()) as { id: string };
  return { id, position: Number(answer.headers.get("socle-position")) };
}

/** Creates posts at all instances until `stop`. Answers the ids of the acknowledged posts. */
function load(): { ids: string[]; stop: () => Promise<void> } {
  const ids: string[] = [];
  let isOn = true;
  const writer = async ({ url }: TestInstance): Promise<void> => {
    while (isOn)
      try {
        const answer = await post(`${url}/api/posts`, { title: "load", n: ids.length });
        if (answer.status === 201) ids.push(((await answer.json()) as { id: string }).id);
        else await Bun.sleep(20);
      } catch {
        // The instance was ended by the test.
        await Bun.sleep(20);
      }
  };
  const running = Promise.all([...instances, ...instances].map(writer));
  return {
    ids,
    stop: async () => {
      isOn = false;
      await running;
    },
  };
}

async function allReady(): Promise<void> {
  for (const { url } of instances) {
    const isReady = async (): Promise<boolean> =>
      (await fetch(`${url}/health/ready`).catch(() => null))?.status === 200;
    while (!(await isReady())) await Bun.sleep(50);
  }
}

/** All rows of all tables of an instance. */
function contentOf({ folder }: TestInstance): Record<string, unknown> {
  using database = new Database(`${folder}/socle.db`, { readonly: true });
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  const rowsOf = (name: string): unknown[] =>
    database
      .query(`SELECT * FROM "${name}"`)
      .all()
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return Object.fromEntries(tables.map(({ name }) => [name, rowsOf(name)]));
}

/** All instances have the same content, once no instance writes. */
async function expectSame(): Promise<void> {
  const positions = (): number[] =>
    instances.map((instance) => (contentOf(instance)["_position"] as { position: number }[])[0]?.position ?? 0);
  await until(() => new Set(positions()).size === 1);
  const [first, ...others] = instances.map(contentOf);
  for (const other of others) expect(other).toEqual(first ?? {});
}

async function expectAll(ids: readonly string[]): Promise<void> {
  for (const instance of instances) {
    const rows = contentOf(instance)["posts"] as { id: string; number: number }[];
    expect(new Set(ids).difference(new Set(rows.map(({ id }) => id))).size).toBe(0);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(new Set(rows.map(({ number }) => number)).size).toBe(rows.length);
  }
}

/** A socket that keeps the events of a subscription, and resumes at another instance. */
class Hearer {
  readonly ids: string[] = [];
  readonly types: string[] = [];
  readonly #filter: string | undefined;
  #socket: WebSocket | null = null;

  constructor(filter?: string) {
    this.#filter = filter;
  }

  async connect({ url }: TestInstance): Promise<void> {
    this.break();
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime`);
    this.#socket = socket;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.onopen = () =>
      socket.send(
        JSON.stringify({ action: "subscribe", channel: "posts.*", since: this.ids.at(-1), filter: this.#filter }),
      );
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as ServerFrame;
      if (frame.type === "event") {
        this.ids.push(frame.event.id);
        this.types.push(frame.event.type);
      } else if (frame.type === "subscribed") resolve();
      else reject(new Error(String(data)));
    };
    socket.onerror = () => reject(new Error("The socket failed"));
    socket.onclose = () => reject(new Error("The socket was closed"));
    await promise;
  }

  async keepConnected(signal: AbortSignal): Promise<void> {
    for (let i = 0; !signal.aborted; i++) {
      const instance = instances[i % instances.length];
      if (instance === undefined) return;
      await this.connect(instance).catch(() => undefined);
      await Bun.sleep(150);
      this.break();
    }
  }

  break(): void {
    if (this.#socket === null) return;
    this.#socket.onmessage = null;
    this.#socket.onclose = null;
    this.#socket.onerror = null;
    this.#socket.close();
  }
}

test("a write at any instance is read at the same instance at once, and at each other with the position", async () => {
  for (let n = 0; n < 30; n++) {
    const [writing, ...reading] = [0, 1, 2].map((i) => instances[(n + i) % 3] as TestInstance);
    if (writing === undefined) throw new Error("no instance");
    const { id, position } = await create(writing, { title: `post ${n}`, n });
    expect((await fetch(`${writing.url}/api/posts/${id}`)).status).toBe(200);
    for (const { url } of reading) {
      const read = await fetch(`${url}/api/posts/${id}`, { headers: { "Socle-Position": String(position) } });
      expect(read.status).toBe(200);
      expect(Number(read.headers.get("socle-position"))).toBeGreaterThanOrEqual(position);
    }
  }
  const late = await fetch(`${instances[1]?.url}/api/posts`, { headers: { "Socle-Position": "1000000" } });
  expect(late.status).toBe(503);
  expect(late.headers.get("retry-after")).toBe("1");
});

test("nobody without the secret reaches the routes between the instances", async () => {
  for (const { url } of instances)
    for (const path of ["question", "introduction", "query", "key"])
      for (const headers of [{}, { "Socle-Instance": "x", "Socle-Instance-Secret": "a guess" }]) {
        const answer = await post(`${url}/_/cluster/${path}`, {}, headers as Record<string, string>);
        expect(answer.status).toBe(404);
      }
});

test("a session that ended and a rule that narrowed are in force at each instance before the answer", async () => {
  const [first] = instances;
  if (first === undefined) throw new Error("no instance");
  const admin = await login(first);
  const writing = load();
  const { id } = await create(first, { title: "read me" });
  for (let round = 0; round < 6; round++) {
    const instance = instances[round % 3] as TestInstance;
    const token = await login(instance);
    const headers = { Authorization: `Bearer ${token}` };
    const me = () =>
      Promise.all(instances.map(async ({ url }) => (await fetch(`${url}/api/auth/me`, { headers })).status));
    expect(await me()).toEqual([200, 200, 200]);
    await fetch(`${instance.url}/api/auth/logout`, { method: "POST", headers });
    expect(await me()).toEqual([401, 401, 401]);
    const rule = async (read: string): Promise<void> => {
      const answer = await fetch(`${instance.url}/api/admin/collections/posts`, {
        method: "PUT",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${admin}` },
        body: JSON.stringify({ permissions: { ...posts.permissions, read } }),
      });
      expect(answer.status).toBe(200);
    };
    const reads = () => Promise.all(instances.map(async ({ url }) => (await fetch(`${url}/api/posts/${id}`)).status));
    await rule("admin");
    expect(await reads()).toEqual([401, 401, 401]);
    await rule("public");
    expect(await reads()).toEqual([200, 200, 200]);
  }
  await writing.stop();
});

test("sockets of each instance hear each event once and in order, and that a record leaves a filter", async () => {
  const steady = instances.map(() => new Hearer());
  const filtered = instances.map(() => new Hearer('isOpen = true && title = "filtered"'));
  for (const [i, instance] of instances.entries()) {
    await steady[i]?.connect(instance);
    await filtered[i]?.connect(instance);
  }
  const writing = load();
  await until(() => writing.ids.length > 100);
  for (const instance of instances) {
    const { id } = await create(instance, { title: "filtered", isOpen: true });
    const body = JSON.stringify({ isOpen: false });
    const headers = { "Content-Type": "application/json" };
    expect((await fetch(`${instance.url}/api/posts/${id}`, { method: "PUT", headers, body })).status).toBe(200);
  }
  await writing.stop();
  const all = writing.ids.length + 2 * instances.length;
  await until(() => steady.every(({ ids }) => ids.length >= all));
  for (const { ids } of steady) expect(ids).toEqual(steady[0]?.ids ?? []);
  expect(steady[0]?.ids).toEqual(steady[0]?.ids.toSorted());
  await until(() => filtered.every(({ types }) => types.length >= 2 * instances.length));
  for (const { types } of filtered) expect(types).toEqual(filtered[0]?.types ?? []);
  for (const hearer of [...steady, ...filtered]) hearer.break();
});

test("a killed leader is replaced; nothing acknowledged is lost, and moving sockets hear each event once", async () => {
  const moving = Array.from({ length: 6 }, () => new Hearer());
  const over = new AbortController();
  const first = instances[0] as TestInstance;
  for (const hearer of moving) await hearer.connect(first);
  const moves = moving.map((hearer) => hearer.keepConnected(over.signal));
  const writing = load();
  await until(() => writing.ids.length > 100);
  const leader = await cluster.leader();
  leader.running.signal("SIGKILL");
  await leader.running.exited;
  const before = writing.ids.length;
  await until(() => writing.ids.length > before + 100);
  await leader.start();
  expect(await cluster.leader()).not.toBe(leader);
  const after = writing.ids.length;
  await until(() => writing.ids.length > after + 100);
  await writing.stop();
  over.abort();
  await Promise.all(moves);
  await allReady();
  const last = new Hearer();
  for (const hearer of [...moving, last]) await hearer.connect(first);
  const { id } = await create(first, { title: "the end" });
  expect(id).not.toBe("");
  await until(() => moving.every(({ ids }) => ids.at(-1) === last.ids[0]));
  for (const { ids } of moving) {
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(moving[0]?.ids.length ?? 0);
  }
  for (const hearer of [...moving, last]) hearer.break();
  await expectAll(writing.ids);
  await expectSame();
}, 90_000);

test("a leader that was paused for longer than the lease commits nothing more, reads nothing old, and follows", async () => {
  const leader = await cluster.leader();
  const [other] = await cluster.replicas();
  if (other === undefined) throw new Error("no replica");
  const token = await login(other);
  const headers = { Authorization: `Bearer ${token}` };
  const known = await fetch(`${leader.url}/api/auth/me`, { headers });
  expect(known.status).toBe(200);
  leader.running.signal("SIGSTOP");
  const next = async (): Promise<TestInstance> => {
    for (;;) {
      const found = await cluster.leader();
      if (found !== leader) return found;
      await Bun.sleep(100);
    }
  };
  const successor = await next();
  await allReadyBut(leader);
  expect((await fetch(`${successor.url}/api/auth/logout`, { method: "POST", headers })).status).toBe(204);
  const { id, position } = await create(successor, { title: "of the next term" });
  leader.running.signal("SIGCONT");
  // Each answer comes after the pause: none may know the session.
  for (let i = 0; i < 50; i++) {
    const answer = await fetch(`${leader.url}/api/auth/me`, { headers }).catch(() => null);
    if (answer !== null) expect([401, 503]).toContain(answer.status);
  }
  await allReady();
  const read = await fetch(`${leader.url}/api/posts/${id}`, { headers: { "Socle-Position": String(position) } });
  expect(read.status).toBe(200);
  await expectSame();
}, 90_000);

async function allReadyBut(paused: TestInstance): Promise<void> {
  for (const instance of instances) {
    if (instance === paused) continue;
    while ((await fetch(`${instance.url}/health/ready`).catch(() => null))?.status !== 200) await Bun.sleep(50);
  }
}

test("a logout waits for a paused replica, which accepts the token never again", async () => {
  const [paused, other] = await cluster.replicas();
  if (paused === undefined || other === undefined) throw new Error("no replica");
  const headers = { Authorization: `Bearer ${await login(other)}` };
  expect((await fetch(`${paused.url}/api/auth/me`, { headers })).status).toBe(200);
  paused.running.signal("SIGSTOP");
  expect((await fetch(`${other.url}/api/auth/logout`, { method: "POST", headers })).status).toBe(204);
  paused.running.signal("SIGCONT");
  for (let i = 0; i < 50; i++) {
    const answer = await fetch(`${paused.url}/api/auth/me`, { headers }).catch(() => null);
    if (answer !== null) expect([401, 503]).toContain(answer.status);
  }
  await allReady();
}, 60_000);

test("without the engine, reads go on and writes are refused; the cluster heals by itself", async () => {
  const { id } = await create(instances[0] as TestInstance, { title: "before" });
  for (const { url } of instances) while ((await fetch(`${url}/api/posts/${id}`)).status !== 200) await Bun.sleep(20);
  await cluster.engine.stop("immediate");
  for (const { url } of instances) {
    const write = await post(`${url}/api/posts`, { title: "without the engine" });
    expect(write.status).toBe(503);
    expect(write.headers.get("retry-after")).not.toBeNull();
  }
  // Longer than the right of an instance to serve.
  const end = performance.now() + 8_000;
  while (performance.now() < end) {
    for (const { url } of instances) expect((await fetch(`${url}/api/posts/${id}`)).status).toBe(200);
    await Bun.sleep(100);
  }
  await cluster.engine.start();
  const writing = load();
  await until(() => writing.ids.length > 100);
  await writing.stop();
  await allReady();
  await expectAll(writing.ids);
  await expectSame();
}, 90_000);
