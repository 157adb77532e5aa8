/**
 * Several processes on one machine: a write is read at once on every process, rights that end are in force on every process, sockets of
 * all processes hear each event once and in order, and a process that is lost is replaced. Connections are chosen so that each
 * process is asked. The other tests run against several processes with `SOCLE_TEST_PROCESSES=3 npm test`.
 */
// Promises: E2.
import { expect, test } from "bun:test";
import type { Page, ServerFrame, SocketEntry } from "@socle/protocol";
import { TestSocket } from "../packages/server/test/sockets.ts";
import { inParallel, isLong, post, project, type Running, serve, singleService, socle, until } from "./kit.ts";
import { isRunning, onEachProcess, type PinnedClient, readersOf } from "./processes-kit.ts";

singleService("processes");

const processes = 3;
const config = { host: "127.0.0.1", processes, limits: { rate: { register: "off", login: "off" } } };
const items = {
  name: "items",
  fields: [
    { name: "n", type: "integer" },
    { name: "text", type: "text" },
  ],
};
const adminEmail = "admin@example.com";
const password = "correct horse";
/** Some writes are under way at each moment, and the machine computes for the tests. */
const loadPauseMs = 10;

async function start(collections: readonly object[] = [items]): Promise<Running> {
  return serve(await project({ collections, config }), {
    env: { SERVICE_PROCESSES: "3", SERVICE_ADMIN_EMAIL: adminEmail, SERVICE_ADMIN_PASSWORD: password },
  });
}

async function login({ url }: Running, email = adminEmail): Promise<string> {
  const answer = await post(`${url}/api/auth/login`, { email, password });
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

/** Creates records over some connections, each after a pause. Answers the created records and how to stop. */
function load({ url }: Running, width = 8): { ids: string[]; stop: () => Promise<void> } {
  const ids: string[] = [];
  let isOn = true;
  const writer = async (): Promise<void> => {
    while (isOn)
      try {
        const answer = await post(`${url}/api/items`, { n: ids.length, text: "load" });
        if (answer.status === 201) ids.push(((await answer.json()) as { id: string }).id);
        await Bun.sleep(loadPauseMs);
      } catch {
        // The process of the connection was ended by the test.
      }
  };
  const running = Promise.all(Array.from({ length: width }, writer));
  return {
    ids,
    stop: async () => {
      isOn = false;
      await running;
    },
  };
}

test("a write is read at once over the connections of every process, under load", async () => {
  const server = await start();
  const clients = await onEachProcess(server.url, processes);
  const writing = load(server);
  const stale: string[] = [];
  for (let round = 0; round < (isLong ? 150 : 45); round++) {
    const writer = clients[round % processes] as PinnedClient;
    const created = await writer.json<{ id: string }>("POST", "/api/items", { n: round, text: "read" });
    const path = `/api/items/${created.id}`;
    const expectAll = async (what: string, isRight: (client: PinnedClient) => Promise<boolean>): Promise<void> => {
      const right = await Promise.all(clients.map(isRight));
      if (right.includes(false)) stale.push(`round ${round}: ${what}`);
    };
    await expectAll("created", async (client) => (await client.request("GET", path)).status === 200);
    await expectAll("listed", async (client) => {
      const { text } = await client.request("GET", `/api/items?filter=text%3D"read"&sort=-n&limit=1`);
      return text.includes(created.id);
    });
    await writer.json("PUT", path, { text: "updated" });
    await expectAll("updated", async (client) => (await client.request("GET", path)).text.includes("updated"));
    await writer.request("DELETE", path);
    await expectAll("deleted", async (client) => (await client.request("GET", path)).status === 404);
  }
  await writing.stop();
  expect(stale).toEqual([]);
  expect(writing.ids.length).toBeGreaterThan(0);
  // The same list has the same tag on every process, and the tag changes with the list.
  const tagsNow = async () => {
    const lists = await Promise.all(clients.map((client) => client.request("GET", "/api/items?limit=3")));
    return lists.map(({ headers }) => headers.get("etag"));
  };
  await post(`${server.url}/api/items`, { n: 1 });
  const tags = await tagsNow();
  expect(new Set(tags).size).toBe(1);
  const same = clients.map((client) =>
    client.request("GET", "/api/items?limit=3", { headers: { "If-None-Match": String(tags[0]) } }),
  );
  expect((await Promise.all(same)).map(({ status }) => status)).toEqual([304, 304, 304]);
  await post(`${server.url}/api/items`, { n: 2 });
  expect(await tagsNow()).not.toEqual(tags);
});

test("a session that ended and a rule that narrowed are in force on every process before the response, under load", async () => {
  const server = await start();
  const admin = await login(server);
  const clients = await onEachProcess(server.url, processes);
  const writing = load(server);
  const { id } = (await (await post(`${server.url}/api/items`, { n: 0 })).json()) as { id: string };
  for (let round = 0; round < (isLong ? 20 : 9); round++) {
    const email = `user${round}@example.com`;
    const registered = await post(`${server.url}/api/auth/register`, { email, password });
    const { accessToken } = (await registered.json()) as { accessToken: string };
    const headers = { Authorization: `Bearer ${accessToken}` };
    const me = () => Promise.all(clients.map((client) => client.request("GET", "/api/auth/me", { headers })));
    expect((await me()).map(({ status }) => status)).toEqual([200, 200, 200]);
    await clients[round % processes]?.request("POST", "/api/auth/logout", { headers });
    expect((await me()).map(({ status }) => status)).toEqual([401, 401, 401]);

    const rule = async (read: string): Promise<void> => {
      const answer = await fetch(`${server.url}/api/admin/collections/items`, {
        method: "PUT",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${admin}` },
        body: JSON.stringify({ permissions: { read, create: "public" } }),
      });
      expect(answer.status).toBe(200);
    };
    const reads = async (): Promise<number[]> => {
      const read = async (client: PinnedClient): Promise<number[]> => {
        const one = await client.request("GET", `/api/items/${id}`);
        return [one.status, (await client.request("GET", "/api/items?limit=1")).status];
      };
      return (await Promise.all(clients.map(read))).flat();
    };
    await rule("admin");
    expect(await reads()).toEqual([401, 401, 401, 401, 401, 401]);
    await rule("public");
    expect(await reads()).toEqual([200, 200, 200, 200, 200, 200]);
  }
  await writing.stop();
});

/** A socket that keeps the ids of the events of a channel, and resumes on another connection. */
class Hearer {
  readonly heard: string[] = [];
  readonly #url: string;
  #socket: WebSocket | null = null;

  constructor({ url }: Running) {
    this.#url = `${url.replace("http", "ws")}/api/realtime`;
  }

  async connect(): Promise<void> {
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.onopen = () =>
      socket.send(JSON.stringify({ action: "subscribe", channel: "items.*", since: this.heard.at(-1) }));
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as ServerFrame;
      if (frame.type === "event") this.heard.push(frame.event.id);
      else if (frame.type === "subscribed") resolve();
      else if (frame.type !== "connected") reject(new Error(String(data)));
    };
    socket.onerror = () => reject(new Error("The socket failed"));
    await promise;
  }

  break(): void {
    if (this.#socket !== null) this.#socket.onmessage = null;
    this.#socket?.close();
  }
}

test("sockets of every process receive each event once and in order, also over breaks", async () => {
  const server = await start();
  const admin = await login(server);
  const steady = Array.from({ length: 12 }, () => new Hearer(server));
  await Promise.all(steady.map((hearer) => hearer.connect()));
  const metrics = await (
    await fetch(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${admin}` } })
  ).text();
  const sockets = [...metrics.matchAll(/^socle_realtime_sockets\{process="([^"]+)"\} (\d+)$/gm)];
  expect(sockets.map(([, name]) => name).toSorted()).toEqual(["leader", "reader 1", "reader 2"]);
  expect(sockets.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(12);
  const broken = new Hearer(server);
  await broken.connect();
  await post(`${server.url}/api/items`, { n: -1 });
  await until(() => broken.heard.length === 1);
  const writing = load(server, 4);
  for (let breaks = 0; breaks < (isLong ? 30 : 12); breaks++) {
    const before = broken.heard.length;
    await until(() => broken.heard.length > before + 3);
    broken.break();
    await broken.connect();
  }
  await writing.stop();
  const all = writing.ids.length + 1;
  await until(() => [...steady, broken].every(({ heard }) => heard.length >= all));
  const [first] = steady;
  expect(first?.heard).toEqual(first?.heard.toSorted());
  expect(new Set(first?.heard).size).toBe(all);
  for (const { heard } of [...steady, broken]) expect(heard).toEqual(first?.heard ?? []);
});

test("a killed and a stopped reader process are replaced while writes go on, and nothing is lost", async () => {
  const server = await start();
  const writing = load(server);
  const [killed = 0, stopped = 0] = readersOf(server);
  await until(() => writing.ids.length > 50);
  process.kill(killed, "SIGKILL");
  await until(() => !isRunning(killed));
  process.kill(stopped, "SIGSTOP");
  const before = writing.ids.length;
  // A write that comes after the stop is answered when the process is given up.
  await until(() => writing.ids.length > before + 20);
  await until(() => !isRunning(stopped));
  await until(() => readersOf(server).length === processes - 1);
  const ready = async (): Promise<number> => (await fetch(`${server.url}/health/ready`)).status;
  for (let status = await ready(); status !== 200; status = await ready()) await Bun.sleep(50);
  await writing.stop();
  const clients = await onEachProcess(server.url, processes);
  const known = new Set(writing.ids);
  for (const client of clients) {
    const { items: found } = JSON.parse((await client.request("GET", "/api/items")).text) as {
      items: { id: string }[];
    };
    expect(known.difference(new Set(found.map(({ id }) => id))).size).toBe(0);
  }
  expect(server.output()).toContain("has ended, and is started again");
});

test("the processes end with the leader, killed or stopped in order", async () => {
  const killed = await start();
  const readers = readersOf(killed);
  expect(readers).toHaveLength(processes - 1);
  killed.signal("SIGKILL");
  await killed.exited;
  await until(() => !readers.some(isRunning));
  const stopped = await start();
  const others = readersOf(stopped);
  // A signal for the whole service reaches each process; the leader ends the others.
  for (const pid of others) process.kill(pid, "SIGTERM");
  await inParallel(Array(20), 5, async () => expect((await fetch(`${stopped.url}/health`)).status).toBe(200));
  expect(await stopped.stop()).toBe(0);
  expect(others.some(isRunning)).toBe(false);
  expect(stopped.output()).toContain("Stopped");
  expect(stopped.output()).not.toContain("has ended");
});

test("every process responds alike: forwarded or not, small or large, right or wrong", async () => {
  const server = await start();
  const token = await login(server);
  const clients = await onEachProcess(server.url, processes);
  const headers = { Authorization: `Bearer ${token}` };
  const json = { ...headers, "Content-Type": "application/json" };
  await inParallel(
    Array.from({ length: 200 }, (_, n) => n),
    8,
    async (n) => {
      await post(`${server.url}/api/items`, { n, text: "x".repeat(5_000) });
    },
  );
  const { id: kept } = (await (await post(`${server.url}/api/items`, { n: 5 })).json()) as { id: string };
  const large = JSON.stringify({ n: 1, text: "y".repeat(900_000) });
  const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${"z".repeat(2_000_000)}\r\n--b\r\nContent-Disposition: form-data; name="visibility"\r\n\r\npublic\r\n--b--\r\n`;
  const type = { ...headers, "Content-Type": "multipart/form-data; boundary=b" };
  const requests: [method: string, path: string, request: { body?: string; headers?: Record<string, string> }][] = [
    ["GET", "/health", {}],
    ["GET", "/", {}],
    ["GET", "/api/items", {}],
    ["HEAD", "/api/items", {}],
    ["OPTIONS", "/api/items", {}],
    ["GET", "/api/items/", {}],
    ["GET", "/api/none", {}],
    ["GET", "/api/items/none", {}],
    ["PATCH", "/api/items", {}],
    ["DELETE", "/api/items", {}],
    ["GET", "/nothing", {}],
    ["GET", "/_/", {}],
    ["GET", "/api/auth/me", {}],
    ["GET", "/api/auth/me", { headers }],
    ["GET", "/api/auth/me", { headers: { Authorization: "Bearer x" } }],
    ["GET", "/api/admin/users", { headers }],
    ["GET", "/api/admin/users", {}],
    ["GET", "/api/%61dmin/users", {}],
    ["GET", "/api/items/export?format=ndjson", { headers }],
    ["GET", "/api/realtime", {}],
    ["POST", "/api/items", { body: "{", headers: json }],
    ["POST", "/api/items", { body: `{"n":"x"}`, headers: json }],
    // A number that is not finite is null in JSON that is written anew.
    ["POST", "/api/items", { body: `{"n":1e400}`, headers: json }],
    ["PUT", `/api/items/${kept}`, { body: `{"n":1e400}`, headers: json }],
    ["PUT", `/api/items/${kept}`, { body: `{"n":12345678901234567890123}`, headers: json }],
    ["POST", "/api/items", { body: `{"n":1}`, headers }],
    ["POST", "/api/items", { body: JSON.stringify({ text: "x".repeat(1_100_000) }), headers: json }],
    ["POST", "/api/batch", { body: `{"operations":[]}`, headers: json }],
    ["GET", "/api/storage/none", { headers }],
  ];
  const shown = ({ status, headers: given, text }: { status: number; headers: Headers; text: string }) => ({
    status,
    headers: [...given].filter(([name]) => !["x-request-id", "date", "socle-position"].includes(name)),
    text: text.replace(/under \S+\./, ""),
  });
  for (const [method, path, request] of requests) {
    const answers = [];
    for (const client of clients) answers.push(shown(await client.request(method, path, request)));
    const [first, ...others] = answers;
    for (const other of others)
      expect({ method, path, ...other }).toEqual({ method, path, ...first } as typeof other & {
        method: string;
        path: string;
      });
  }
  for (const client of clients) {
    // A refusal with a key is kept whole, and given again by every process.
    const keyed = { body: `{"n":"x"}`, headers: { ...json, "Idempotency-Key": client.process } };
    for (const other of [client, ...clients]) {
      const { status, headers: given, text } = await other.request("POST", "/api/items", keyed);
      expect([status, given.get("content-type")]).toEqual([400, "application/json"]);
      expect(JSON.parse(text)).toMatchObject({ error: { code: "validation_error", details: [{ field: "n" }] } });
    }
    const created = await client.request("POST", "/api/items", { body: large, headers: json });
    expect(created.status).toBe(201);
    const { id } = JSON.parse(created.text) as { id: string };
    for (const other of clients) expect((await other.request("GET", `/api/items/${id}`)).text).toBe(created.text);
    const uploaded = await client.request("POST", "/api/storage/upload", { body: form, headers: type });
    expect(uploaded.status).toBe(201);
    const { url } = JSON.parse(uploaded.text) as { url: string };
    for (const other of clients) expect((await other.request("GET", url)).text).toBe("z".repeat(2_000_000));
  }
});

test("development has a single process, and a wrong number stops the start", async () => {
  const cwd = await project({ collections: [items], config });
  const server = await serve(cwd, { args: ["dev"] });
  expect(readersOf(server)).toEqual([]);
  expect(await server.stop()).toBe(0);
  const { code, stderr } = await socle([], { cwd, env: { SERVICE_PROCESSES: "0" } });
  expect(code).toBe(2);
  expect(stderr).toContain('"processes"; allowed: a whole number from 1 to 64, or "auto"');
});

test("a collection whose createdAt runs backwards, and a cascade, are the same on every process", async () => {
  const notes = {
    name: "notes",
    fields: [{ name: "project", type: "relation", collection: "projects", onDelete: "cascade" }],
    permissions: { read: "project.owner = @user.id", create: "authenticated" },
  };
  const projects = {
    name: "projects",
    fields: [{ name: "owner", type: "relation", collection: "users", owner: true }],
    permissions: { read: "public", create: "authenticated" },
  };
  const server = await start([items, projects, notes]);
  const admin = await login(server);
  const clients = await onEachProcess(server.url, processes);
  const authorized = { Authorization: `Bearer ${admin}` };
  const times = [3, 1, 2, 1].map((day, n) => JSON.stringify({ n, createdAt: `2020-01-0${day}` })).join("\n");
  const headers = { ...authorized, "Content-Type": "application/x-ndjson" };
  const imported = await clients[0]?.request("POST", "/api/items/import", { body: times, headers });
  expect(imported?.status).toBe(200);
  for (const search of ["", "?limit=9", "?sort=-createdAt", "?filter=n%3E%3D0"])
    for (const client of clients) {
      const { text } = await client.request("GET", `/api/items${search}`);
      const found = (JSON.parse(text) as { items: { n: number }[] }).items.map(({ n }) => n);
      expect([search, found]).toEqual([search, [0, 2, 3, 1]]);
    }

  const made = async (collection: string, body: object): Promise<string> => {
    const answer = await post(`${server.url}/api/${collection}`, body, authorized);
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const project = await made("projects", {});
  const note = await made("notes", { project });
  const sockets = await Promise.all(Array.from({ length: 12 }, () => TestSocket.open(server.url, admin)));
  for (const socket of sockets) await socket.subscribe("notes.deleted");
  const listed = await fetch(`${server.url}/api/admin/sockets?limit=11`, { headers: authorized });
  const { items: some, total } = (await listed.json()) as Page<SocketEntry>;
  expect([some.length, total]).toEqual([11, sockets.length]);
  const rest = await fetch(`${server.url}/api/admin/sockets?limit=11&offset=11`, { headers: authorized });
  const entries = [...some, ...((await rest.json()) as Page<SocketEntry>).items];
  expect(new Set(entries.map(({ id }) => id)).size).toBe(sockets.length);
  expect(entries.map(({ channels }) => channels)).toEqual(
    Array(sockets.length).fill([{ id: null, channel: "notes.deleted", filter: null }]),
  );
  await clients[1]?.request("DELETE", `/api/projects/${project}`, { headers: authorized });
  for (const socket of sockets) {
    while ((await socket.events()).length === 0) await Bun.sleep(5);
    expect((await socket.events()).map(({ payload }) => payload)).toEqual([{ id: note }]);
  }
});
