/** A cluster of three instances: writes at any instance, reads and sockets everywhere, rights that end, and equal content. */
// Promises: C2.
import { expect, test } from "bun:test";
import { differences, numbersAt } from "./cluster-content.ts";
import { Hearer } from "./cluster-hearer.ts";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { broken, startLoad } from "./cluster-load.ts";
import { post, until } from "./kit.ts";

const open = { read: "public", create: "public", update: "public", delete: "public" };
const fields = [
  { name: "title", type: "string" },
  { name: "n", type: "integer" },
];
const posts = { name: "posts", fields, permissions: open };
const own = {
  name: "own",
  fields,
  permissions: { read: "owner", create: "authenticated", update: "owner", delete: "owner" },
};
const email = "admin@example.com";
const password = "a long password";
const settings = {
  SERVICE_ADMIN_EMAIL: email,
  SERVICE_ADMIN_PASSWORD: password,
  SERVICE_LIMITS_RATE_REGISTER: "off",
  SERVICE_LIMITS_RATE_LOGIN: "off",
};

/** An endpoint that answers the headers of the request. */
const echo = `export const access = "public";
export const POST = (request) => Response.json([...request.headers]);
`;
/** An endpoint that says in the log that a request came, and never answers. */
const never = `export const access = "public";
export const options = { timeout: "60s" };
export const GET = (_, { logger }) => (logger.info("a request waits"), new Promise(() => {}));
`;
const titles = { name: "titles", query: "SELECT id, title FROM posts", permissions: { read: "public" } };
const notes = {
  name: "notes",
  fields: [
    { name: "n", type: "integer" },
    { name: "embedding", type: "vector", dimensions: 3 },
  ],
  permissions: { ...open, read: "n >= 0" },
};
const shown = {
  name: "shown",
  query: "SELECT id, n, embedding FROM notes WHERE n < 100",
  permissions: { read: "public" },
};
const files = {
  "endpoints/echo.ts": echo,
  "endpoints/never.ts": never,
  "collections/posts.json": JSON.stringify(posts),
  "collections/own.json": JSON.stringify(own),
  "collections/titles.json": JSON.stringify(titles),
  "collections/notes.json": JSON.stringify(notes),
  "collections/shown.json": JSON.stringify(shown),
};
const cluster = await startCluster(3, { files, settings });
const { instances } = cluster;
const [first] = await cluster.replicas();
const headers = bearer(await tokenOf(`${first?.url}/api/auth/login`, email));

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

async function tokenOf(url: string, address: string): Promise<string> {
  const answer = await post(url, { email: address, password });
  expect(answer.ok).toBe(true);
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

function instance(index: number): TestInstance {
  const found = instances[index % instances.length];
  if (found === undefined) throw new Error("The cluster has no instances");
  return found;
}

async function create(at: TestInstance, n: number): Promise<{ id: string; position: number }> {
  const response = await post(`${at.url}/api/posts`, { title: `post ${n}`, n }, headers);
  expect(response.status).toBe(201);
  const { id } = (await response.json()) as { id: string };
  return { id, position: Number(response.headers.get("socle-position")) };
}

function put(url: string, body: object, more: Record<string, string> = {}): Promise<Response> {
  const all = { "Content-Type": "application/json", ...more };
  return fetch(url, { method: "PUT", headers: all, body: JSON.stringify(body) });
}

test("a write at any instance is read at the same instance at once, and at each other with the position", async () => {
  for (let n = 0; n < 30; n++) {
    const writing = instance(n);
    const reading = instance(n + 1);
    const { id, position } = await create(writing, n);
    expect((await fetch(`${writing.url}/api/posts/${id}`)).status).toBe(200);
    const read = await fetch(`${reading.url}/api/posts/${id}`, { headers: { "Socle-Position": String(position) } });
    expect(read.status).toBe(200);
    expect(Number(read.headers.get("socle-position"))).toBeGreaterThanOrEqual(position);
  }
});

test("a write at any instance reaches the live queries of the caller at each instance", async () => {
  const told = await Promise.all(
    instances.map(async ({ url }) => {
      const socket = new WebSocket(
        `${url.replace("http", "ws")}/api/realtime?token=${headers["Authorization"]?.slice(7)}`,
      );
      const { promise, resolve } = Promise.withResolvers<void>();
      const positions: number[] = [];
      const frames: string[] = [];
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(String(data)) as { type: string; seq?: number };
        if (frame.type !== "connected") frames.push(frame.type);
        if (frame.type === "position") positions.push(frame.seq ?? 0);
        if (frame.type === "result") resolve();
      };
      // No write of the test is in the window.
      const query = { collection: "posts", filter: 'title = "nowhere"' };
      socket.onopen = () => socket.send(JSON.stringify({ action: "subscribe", id: "nowhere", query }));
      await promise;
      return { socket, positions, frames };
    }),
  );
  for (const [index] of instances.entries()) {
    const { position } = await create(instance(index), 1_000 + index);
    for (const { positions } of told) await until(() => positions.some((seq) => seq >= position));
  }
  for (const { socket, frames } of told) {
    socket.close();
    expect(frames.slice(0, 2).toSorted()).toEqual(["result", "subscribed"]);
    expect(new Set(frames.slice(2))).toEqual(new Set(["position"]));
  }
});

test("a changed setting is in force at each instance", async () => {
  const change = (value: unknown) => put(`${instance(0).url}/api/admin/config/log.slowQuery`, { value }, headers);
  const slow = ({ output }: TestInstance): number => output().split("A query was slow").length - 1;
  let n = 1_000_000;
  // Each list is another list: an equal list would have a kept answer.
  const list = ({ url }: TestInstance) => fetch(`${url}/api/posts?filter=${encodeURIComponent(`n = ${++n}`)}`);
  expect((await change("1d")).status).toBe(200);
  const before = instances.map(slow);
  expect((await change(0)).status).toBe(200);
  for (const [index, each] of instances.entries())
    await until(async () => (await list(each)).ok && slow(each) > (before[index] ?? 0));
  expect((await change(null)).status).toBe(200);
});

test("each instance answers a view with the last write, and a changed definition of the view", async () => {
  const at = (position: number) => ({ headers: { "Socle-Position": String(position) } });
  const { id, position } = await create(instance(0), 2_000);
  const rowOf = async ({ url }: TestInstance, from: number): Promise<object[]> => {
    const response = await fetch(`${url}/api/titles?filter=id="${id}"`, at(from));
    return ((await response.json()) as { items: object[] }).items;
  };
  for (const each of instances) expect(await rowOf(each, position)).toEqual([{ id, title: "post 2000" }]);

  const [replica] = await cluster.replicas();
  const query = "SELECT id, title, n + 0 AS n, CAST(n + 1 AS INTEGER) AS next FROM posts";
  const change = (body: object) => put(`${replica?.url}/api/admin/collections/titles`, body, headers);
  expect((await change({ ...titles, query })).status).toBe(400);
  const changed = await change({ ...titles, query: query.replace("n + 0 AS n, ", "") });
  expect(changed.status).toBe(200);
  const since = Number(changed.headers.get("socle-position"));
  for (const each of instances) expect(await rowOf(each, since)).toEqual([{ id, title: "post 2000", next: 2_001 }]);
  expect((await change({ ...titles, permissions: { read: "admin" } })).status).toBe(200);
  for (const { url } of instances) expect((await fetch(`${url}/api/titles`)).status).toBe(401);
});

test("each instance answers the nearest vectors after each write at any instance, of the collection and of a view", async () => {
  const sort = "nearest(embedding, [1, 0, 0])";
  // The smaller the angle to the axis, the nearer.
  const angles = new Map([5, 3, 1, 4, 2, -1, 100].map((n, i) => [n, i === 5 ? 0 : n / 100]));
  const ids = new Map<number, string>();
  let position = "";
  // So many records that the instances keep the vectors in memory.
  const far = Array.from({ length: 2_000 }, (_, i) => JSON.stringify({ n: 1_000 + i, embedding: [-1, i / 1_000, 1] }));
  const imported = await fetch(`${instance(0).url}/api/notes/import`, {
    ...{ method: "POST", headers: { "Content-Type": "application/x-ndjson", ...headers }, body: far.join("\n") },
  });
  expect(await imported.json()).toMatchObject({ imported: far.length });
  const send = async (at: TestInstance, method: string, n: number): Promise<void> => {
    const angle = angles.get(n) ?? 0;
    const response = await fetch(`${at.url}/api/notes${method === "POST" ? "" : `/${ids.get(n)}`}`, {
      ...{ method, headers: { "Content-Type": "application/json", ...headers } },
      ...(method !== "DELETE" && { body: JSON.stringify({ n, embedding: [Math.cos(angle), Math.sin(angle), 0] }) }),
    });
    expect(response.ok).toBe(true);
    if (method === "POST") ids.set(n, ((await response.json()) as { id: string }).id);
    position = response.headers.get("socle-position") ?? "";
  };
  const nearestAt = async ({ url }: TestInstance, collection: string): Promise<number[]> => {
    const response = await post(`${url}/api/${collection}/query`, { sort, limit: 4 }, { "Socle-Position": position });
    expect(response.status).toBe(200);
    return ((await response.json()) as { items: { n: number }[] }).items.map(({ n }) => n);
  };
  const check = async (): Promise<void> => {
    const wanted = [...ids.keys()]
      .filter((n) => n >= 0)
      .toSorted((a, b) => (angles.get(a) ?? 0) - (angles.get(b) ?? 0));
    for (const each of instances) {
      const found = await nearestAt(each, "notes");
      expect(found).toHaveLength(4);
      expect(found.filter((n) => n < 1_000)).toEqual(wanted.slice(0, 4));
      // A view reads all rows, under its own rule.
      const seen = [...ids.keys()]
        .filter((n) => n < 100)
        .toSorted((a, b) => (angles.get(a) ?? 0) - (angles.get(b) ?? 0));
      expect(await nearestAt(each, "shown")).toEqual(seen.slice(0, 4));
    }
  };
  let writes = 0;
  for (const n of [...angles.keys()]) {
    await send(instance(writes++), "POST", n);
    await check();
  }
  angles.set(1, 1);
  await send(instance(writes++), "PUT", 1);
  await check();
  await send(instance(writes++), "DELETE", 2);
  ids.delete(2);
  await check();
});

test("the code of an endpoint gets no header between instances", async () => {
  for (const { url } of instances) {
    const text = await (await post(`${url}/api/function/echo`, {})).text();
    expect(text).toContain("content-type");
    expect(text).not.toMatch(/socle-(?:client|instance)|between instances/i);
  }
});

test("a request that is sent again may name another position", async () => {
  for (const [index, { url }] of instances.entries()) {
    const send = (at: string, position: string): Promise<Response> =>
      post(
        `${at}/api/function/echo`,
        {},
        // The address by which clients know the cluster.
        { Host: "api.example.com", "Idempotency-Key": `echo-${index}`, "Socle-Position": position },
      );
    const answer = await send(url, "1");
    expect(answer.status).toBe(200);
    for (const other of instances) {
      const again = await send(other.url, "2");
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    }
  }
});

test("a replica forwards a request with any Host that names a host, and refuses another", async () => {
  for (const { url } of instances)
    for (const [host, status] of [
      ["Host:", 404],
      ["Host: elsewhere.example:99999", 404],
      ["Host: [", 400],
      ["Host: a b", 400],
    ] as const) {
      const { promise, resolve } = Promise.withResolvers<string>();
      let text = "";
      await Bun.connect({
        hostname: "127.0.0.1",
        port: Number(new URL(url).port),
        socket: {
          data: (_, bytes) => {
            text += bytes.toString();
          },
          close: () => resolve(text),
          open: (socket) => void socket.write(`GET /nope HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`),
        },
      });
      expect([host, await promise]).toEqual([
        host,
        expect.stringMatching(new RegExp(`^HTTP/1.1 ${status}[^]*X-Request-Id`, "i")),
      ]);
    }
});

test("an unknown position is reported; a request waits for the position for a bounded time", async () => {
  for (const { url } of await cluster.replicas()) {
    const answer = await fetch(`${url}/api/posts`, { headers: { "Socle-Position": "1000000" } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
  }
});

test("questions between instances do not count as requests of clients", async () => {
  const leader = await cluster.leader();
  const answered = async (): Promise<number> => {
    const text = await (await fetch(`${leader.url}/metrics`, { headers })).text();
    const counts = [...text.matchAll(/^socle_http_requests_total\{[^}]*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await answered();
  for (let n = 0; n < 5; n++) {
    const { id, position } = await create(leader, n);
    // A replica that has the write has asked the leader.
    for (const { url } of await cluster.replicas())
      await fetch(`${url}/api/posts/${id}`, { headers: { "Socle-Position": String(position) } });
  }
  // The five writes, and the first look at the metrics.
  expect((await answered()) - before).toBe(6);
});

test("a caller without the secret does not reach the routes between the instances", async () => {
  for (const { url } of cluster.instances)
    for (const path of ["question", "introduction", "query", "key"])
      for (const guess of [null, "a guess"]) {
        const headers: Record<string, string> = guess === null ? {} : { "Socle-Instance-Secret": guess };
        const answer = await post(`${url}/_/cluster/${path}`, {}, headers);
        expect(answer.status).toBe(404);
      }
});

test("sockets of all instances receive each event once and in order, by rules and filters too", async () => {
  const users = await Promise.all(
    [0, 1].map((user) => tokenOf(`${instance(user).url}/api/auth/register`, `hearer${user}@example.com`)),
  );
  const all = instances.map(() => new Hearer({ channel: "posts.*" }));
  const filtered = instances.map(() => new Hearer({ channel: "posts.*", filter: "n >= 1000" }));
  const owned = users.map((token) => instances.map(() => new Hearer({ channel: "own.*", token })));
  const hearers = [all, filtered, ...owned];
  for (const group of hearers)
    await Promise.all(group.map(async (hearer, index) => expect(await hearer.connect(instance(index).url)).toBe(true)));
  for (let n = 0; n < 24; n++) {
    const { id } = await create(instance(n), 1_000 + n);
    // The record leaves the filter at another instance.
    expect((await put(`${instance(n + 1).url}/api/posts/${id}`, { n })).status).toBe(200);
    const answer = await post(`${instance(n).url}/api/own`, { n }, bearer(users[n % 2] ?? ""));
    expect(answer.status).toBe(201);
  }
  const counts = (): number[] => hearers.flatMap((group) => group.map(({ heard }) => heard.length));
  const wanted = [48, 48, 48, 48, 48, 48, ...Array(6).fill(12)];
  // The counts say more than a wait that was too long.
  await until(() => counts().join() === wanted.join()).catch(() => undefined);
  expect(counts()).toEqual(wanted);
  for (const group of hearers)
    for (const { heard, problems } of group) {
      expect(problems).toEqual([]);
      expect(heard).toEqual(group[0]?.heard ?? []);
    }
  const types = (heard: readonly { type: string }[] | undefined): Set<string> =>
    new Set(heard?.map(({ type }) => type));
  expect(types(all[0]?.heard)).toEqual(new Set(["posts.created", "posts.updated"]));
  expect(types(filtered[0]?.heard)).toEqual(new Set(["posts.created", "posts.deleted"]));
  for (const group of hearers) for (const hearer of group) hearer.break();
});

test("a socket resumes at a replica that is behind, when the replica has the events that the socket has received", async () => {
  const leader = await cluster.leader();
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("The cluster has no replica");
  const hearer = new Hearer({ channel: "posts.*" });
  expect(await hearer.connect(leader.url)).toBe(true);
  replica.proxy.stall();
  await create(leader, 1);
  await until(() => hearer.heard.length === 1);
  // The replica cannot know whether the event is of this cluster.
  expect(await hearer.connect(replica.url)).toBe(false);
  replica.proxy.flow();
  while (!(await hearer.connect(replica.url))) await Bun.sleep(20);
  await create(leader, 2);
  await until(() => hearer.heard.length === 2);
  expect(hearer.problems).toEqual([]);
  hearer.break();
});

/** Creates records at the leader, until a replica has run an entry whose answer from the journal has not reached the leader. */
async function writeInDoubt(): Promise<{ leader: TestInstance; hearer: Hearer; writing: Promise<Response> }> {
  for (let position = "0"; ; ) {
    const leader = await cluster.leader();
    const [replica] = await cluster.replicas();
    if (replica === undefined) throw new Error("The cluster has no replica");
    await until(async () => (await fetch(`${replica.url}/api/posts`, { headers: { "Socle-Position": position } })).ok);
    const hearer = new Hearer({ channel: "posts.*" });
    await until(() => hearer.connect(replica.url));
    leader.proxy.hold("answers");
    let isOver = false;
    const writing = post(`${leader.url}/api/posts`, { title: "in doubt", n: 1 }, headers).finally(() => {
      isOver = true;
    });
    await until(() => hearer.heard.length === 1 || isOver);
    // Time for the response of a write that another leader has made.
    await Bun.sleep(200);
    if (!isOver) return { leader, hearer, writing };
    // The entry has waited behind a statement whose answer is held, until the leader had to leave.
    leader.proxy.cut();
    position = (await writing).headers.get("socle-position") ?? position;
    hearer.break();
  }
}

test("a client of a replica that has run an entry before the leader knows goes on at the leader without a loss", async () => {
  const { leader, hearer, writing } = await writeInDoubt();
  const [{ id, record }] = hearer.heard as [(typeof hearer.heard)[number]];
  const of = JSON.parse(record) as { id: string };
  // The number of an event is a part of the id of the event.
  const later = { "Socle-Position": String(Number.parseInt(id.slice(-13), 16)) };
  const read = async (): Promise<number> =>
    (await fetch(`${leader.url}/api/posts/${of.id}`, { headers: later })).status;
  expect(await Promise.all([read(), hearer.connect(leader.url)])).toEqual([503, false]);
  leader.proxy.cut();
  // The leader that connects again within its lease finds the entry; a leader whose lease has ended does not know.
  expect([201, 503]).toContain((await writing).status);
  let status = await read();
  while (status === 503) status = await read();
  expect(status).toBe(200);
  while (!(await hearer.connect(leader.url))) await Bun.sleep(20);
  await create(leader, 2);
  await until(() => hearer.heard.length === 2);
  expect(hearer.problems).toEqual([]);
  hearer.break();
});

test("a session that ended and a rule that narrowed are in force at every instance before the response, under load", async () => {
  const { id } = await create(instance(0), 1);
  const load = startLoad(instances);
  for (let round = 0; round < 9; round++) {
    const token = await tokenOf(`${instance(round).url}/api/auth/register`, `user${round}@example.com`);
    const me = async (): Promise<number[]> =>
      Promise.all(
        instances.map(async ({ url }) => (await fetch(`${url}/api/auth/me`, { headers: bearer(token) })).status),
      );
    expect(await me()).toEqual([200, 200, 200]);
    const logout = await post(`${instance(round).url}/api/auth/logout`, {}, bearer(token));
    expect(logout.status).toBe(204);
    expect(await me()).toEqual([401, 401, 401]);
  }
  const reads = async (): Promise<number[]> =>
    Promise.all(instances.map(async ({ url }) => (await fetch(`${url}/api/posts/${id}`)).status));
  for (let round = 0; round < 6; round++) {
    const rule = async (read: string): Promise<void> => {
      const url = `${instance(round).url}/api/admin/collections/posts`;
      expect((await put(url, { permissions: { ...open, read } }, headers)).status).toBe(200);
    };
    await rule("admin");
    expect(await reads()).toEqual([401, 401, 401]);
    await rule("public");
    expect(await reads()).toEqual([200, 200, 200]);
  }
  await load.stop();
  expect(load.writes.filter(({ outcome }) => outcome !== "acknowledged")).toEqual([]);
  expect(load.writes.length).toBeGreaterThan(0);
});

test("the databases of all instances have equal content", async () => {
  const load = startLoad(instances);
  await until(() => load.writes.length > 100);
  await load.stop();
  expect(broken(load.writes, numbersAt(instance(0), "posts"))).toEqual([]);
  expect(await differences(instances)).toEqual([]);
});

test("a response of a replica that is on its way at a stop arrives whole", async () => {
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("The cluster has no replica");
  const title = "x".repeat(500_000);
  let position = "";
  for (let n = 0; n < 30; n++)
    position = (await post(`${replica.url}/api/posts`, { title })).headers.get("socle-position") ?? "";
  const response = await fetch(`${replica.url}/api/posts`, { headers: { "Socle-Position": position } });
  const reader = response.body?.getReader();
  let size = (await reader?.read())?.value?.byteLength ?? 0;
  replica.running.signal("SIGTERM");
  await until(() => replica.running.output().includes("stopping"));
  // Longer than an instance may take that changes its role.
  await Bun.sleep(2_500);
  for (let done = reader === undefined; !done; ) {
    const next = await reader?.read();
    size += next?.value?.byteLength ?? 0;
    done = next?.done ?? true;
  }
  expect(size).toBeGreaterThan(30 * title.length);
  expect(await replica.running.exited).toBe(0);
  await replica.start();
});

test("a replica that stops responds to the requests that wait for the leader", async () => {
  const [replica] = await cluster.replicas();
  const leader = await cluster.leader();
  if (replica === undefined) throw new Error("The cluster has no replica");
  const waiting = fetch(`${replica.url}/api/function/never`);
  await until(() => leader.running.output().includes("a request waits"));
  replica.running.signal("SIGTERM");
  const answer = await waiting;
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await answer.json()).toMatchObject({ error: { code: "unavailable" } });
  expect(await replica.running.exited).toBe(0);
  await replica.start();
  expect((await fetch(`${replica.url}/api/posts`)).status).toBe(200);
});
