/** Migrations while the service is used: no reader sees a mixture of shapes, and no acknowledged write is lost. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isLong, post, project, serve, singleService, temporaryFolder, until } from "./kit.ts";

const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };

interface Admin {
  readonly url: string;
  readonly token: string;
  put(collection: string, body: object): Promise<Response>;
}

async function signIn(url: string): Promise<Admin> {
  const answer = await post(`${url}/api/auth/login`, { email: "admin@example.com", password: "correct horse" });
  const { accessToken: token } = (await answer.json()) as { accessToken: string };
  return {
    url,
    token,
    put: (collection, body) =>
      fetch(`${url}/api/admin/collections/${collection}`, {
        method: "PUT",
        headers: { Authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      }),
  };
}

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });

/** Every shape of the collection on the way round; `n` is always a field. */
const n = { name: "n", type: "integer" };
const shapes = [
  [n, text("a")],
  [n, text("a"), text("b", { renamedFrom: null })],
  [n, text("c", { renamedFrom: "a" }), text("b")],
  [n, text("c")],
  [n, text("a", { renamedFrom: "c" })],
];
const keysOf = (fields: readonly { name: string }[]): string => fields.map(({ name }) => name).join();
const known = new Set(shapes.map(keysOf));

function shapeOf(record: object): string {
  return Object.keys(record)
    .filter((key) => !["id", "createdAt", "updatedAt"].includes(key))
    .join();
}

test("100 changes of fields under 32 connections of reads and writes", async () => {
  singleService("files");
  const cwd = await project({ collections: [{ name: "items", fields: shapes[0] }] });
  const server = await serve(cwd, { env });
  const admin = await signIn(server.url);
  const path = `${server.url}/api/items`;
  const acknowledged = new Map<string, number>();
  const wrong: string[] = [];
  let isOver = false;
  let [count, lists] = [0, 0];

  async function write(): Promise<void> {
    while (!isOver) {
      count += 1;
      const sent = count;
      const answer = await post(path, { n: sent });
      const body = (await answer.json()) as { id: string; n: number };
      if (answer.status !== 201) wrong.push(`POST ${answer.status} ${JSON.stringify(body)}`);
      else if (body.n !== sent || !known.has(shapeOf(body))) wrong.push(`POST answered ${JSON.stringify(body)}`);
      else acknowledged.set(body.id, sent);
      const changed = await fetch(`${path}/${body.id}`, {
        method: "PUT",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ n: -sent }),
      });
      if (changed.status !== 200) wrong.push(`PUT ${changed.status} ${await changed.text()}`);
      else acknowledged.set(body.id, ((await changed.json()) as { n: number }).n);
      await Bun.sleep(5);
    }
  }

  async function read(): Promise<void> {
    while (!isOver) {
      const answer = await fetch(path);
      const body = await answer.text();
      if (answer.status !== 200) wrong.push(`GET ${answer.status} ${body}`);
      lists += 1;
      const { items } = JSON.parse(body) as { items: object[] };
      const seen = new Set(items.map(shapeOf));
      if (seen.size > 1 || [...seen].some((shape) => !known.has(shape)))
        wrong.push(`a list of the shapes ${[...seen].join(" and ")}`);
      // Lists grow with the writes; the machine must have time for the writes, too.
      await Bun.sleep(5);
    }
  }

  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`);
  let events = 0;
  socket.onmessage = ({ data }) => {
    const { type, event } = JSON.parse(String(data)) as { type: string; event?: { payload: object } };
    if (type === "event" && event !== undefined) {
      events += 1;
      if (!known.has(shapeOf(event.payload))) wrong.push(`an event of ${JSON.stringify(event.payload)}`);
    }
  };
  await until(() => socket.readyState === WebSocket.OPEN);
  socket.send(JSON.stringify({ action: "subscribe", channel: "items.*" }));

  const users = [...Array.from({ length: 16 }, write), ...Array.from({ length: 16 }, read)];
  for (let change = 1; change <= (isLong ? 100 : 20); change++) {
    const answer = await admin.put("items", { fields: shapes[change % shapes.length] ?? [] });
    if (answer.status !== 200) wrong.push(`migration ${change}: ${answer.status} ${await answer.text()}`);
  }
  isOver = true;
  await Promise.all(users);

  expect(wrong.slice(0, 5)).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(0);
  expect(lists).toBeGreaterThan(0);
  const { items } = (await (await fetch(path)).json()) as { items: { id: string; n: number }[] };
  expect(new Map(items.map((item) => [item.id, item.n]))).toEqual(acknowledged);
  // The socket has stayed, and has heard everything.
  await until(() => events >= 2 * acknowledged.size);
  expect([socket.readyState, events]).toEqual([WebSocket.OPEN, 2 * acknowledged.size]);
  socket.close();
  await server.stop();
  expect(server.output()).not.toContain("ERROR");
  // Everything is in the database file; the other files are the lock and the reserve for a full disk.
  const beside = readdirSync(cwd).filter((file) => file.startsWith("socle.db-") && file !== "socle.db-reserve");
  expect(beside).toEqual(["socle.db-lock"]);
});

describe("a large collection", async () => {
  const records = 20_000;
  singleService("database");
  const made = await make();

  /** A copy of the project with the records. */
  async function large(): Promise<string> {
    const cwd = temporaryFolder();
    cpSync(made, cwd, { recursive: true });
    return cwd;
  }

  /** Writes records into the database of a service that is not running. */
  async function make(): Promise<string> {
    const cwd = await project({ collections: [{ name: "items", fields: [n, text("a"), text("gone")] }] });
    await (await serve(cwd, { env })).stop();
    const database = new Database(join(cwd, "socle.db"));
    const insert = database.prepare(
      "INSERT INTO items (id, createdAt, updatedAt, n, a, gone) VALUES (?, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', ?, ?, ?)",
    );
    database.transaction(() => {
      for (let i = 0; i < records; i++) insert.run(`rec_${Bun.randomUUIDv7()}`, i, `a ${i}`, "x".repeat(400));
    })();
    database.close();
    return cwd;
  }

  test("a list under way goes on with the former definition, whatever is migrated meanwhile", async () => {
    const server = await serve(await large(), { env });
    const admin = await signIn(server.url);
    const answer = await fetch(`${server.url}/api/items`);
    const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
    const first = await reader.read();
    // The rest is not asked for before the collection has changed twice.
    expect((await admin.put("items", { fields: [n, text("b", { renamedFrom: "a" })] })).status).toBe(200);
    expect((await admin.put("items", { fields: [n] })).status).toBe(200);
    const decoder = new TextDecoder();
    let body = decoder.decode(first.value, { stream: true });
    for (let next = await reader.read(); !next.done; next = await reader.read())
      body += decoder.decode(next.value, { stream: true });
    const { items } = JSON.parse(body) as { items: object[] };
    expect(items.length).toBe(records);
    expect([...new Set(items.map(shapeOf))]).toEqual(["n,a,gone"]);
    const [after] = ((await (await fetch(`${server.url}/api/items`)).json()) as { items: object[] }).items;
    expect(shapeOf(after ?? {})).toBe("n");
  });

  test("a change that its records contradict is refused with their number and five of the records, and nothing is changed", async () => {
    const cwd = await large();
    const server = await serve(cwd, { env });
    const admin = await signIn(server.url);
    const answer = await admin.put("items", { fields: [n, text("a"), text("gone", { unique: true })] });
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { error: { message: string; details: object[] } };
    expect(error.message).toMatch(
      /^field "gone" cannot be unique: 20000 records have a value that another has too \((rec_[0-9a-f-]+, ){5}…\)$/,
    );
    expect(error.details).toMatchObject([{ field: "gone", rule: "unique" }]);
    expect((await post(`${server.url}/api/items`, { n: 1, gone: "x".repeat(400) })).status).toBe(201);
  });

  test("reads go on during the migration, and writes during the migration are stored afterwards", async () => {
    const server = await serve(await large(), { env });
    const admin = await signIn(server.url);
    let isOver = false;
    // Every text is matched against the pattern, which takes a while.
    const fields = [n, text("a", { regex: "^(a|b) [0-9]+$" }), text("gone")];
    const migrating = admin.put("items", { fields }).then((answer) => {
      isOver = true;
      return answer.status;
    });
    await Bun.sleep(50);
    const writing = post(`${server.url}/api/items`, { n: 1, a: "a 1" });
    let reads = 0;
    while (!isOver) {
      await (await fetch(`${server.url}/health`)).arrayBuffer();
      reads += 1;
    }
    expect(await migrating).toBe(200);
    // A loop that is held up answers once or twice.
    expect(reads).toBeGreaterThan(5);
    expect((await writing).status).toBe(201);
    expect((await post(`${server.url}/api/items`, { n: 1, a: "c" })).status).toBe(400);
  });

  test("dry runs describe a single state of everything, whatever changes meanwhile", async () => {
    const server = await serve(await large(), { env });
    const admin = await signIn(server.url);
    const fields = [n, text("a"), text("gone")];
    const more = [...fields, text("more", { renamedFrom: null })];
    let isOver = false;
    const toggle = async (): Promise<void> => {
      for (let round = 0; !isOver; round++)
        expect((await admin.put("items", { fields: round % 2 === 0 ? more : fields })).status).toBe(200);
    };
    const toggling = toggle();
    const dryRun = async (): Promise<void> => {
      for (let round = 0; round < 4; round++) {
        // A new rule asks every record; a field too much is dropped, if present.
        const answer = await admin.put("items?dryRun=true", { fields: [n, text("a"), text("gone", { max: 500 })] });
        const { steps } = (await answer.json()) as { steps: { step: string; field: string }[] };
        expect(answer.status).toBe(200);
        expect(["rules gone", "drop more, rules gone"]).toContain(
          steps.map(({ step, field }) => `${step} ${field}`).join(", "),
        );
      }
    };
    await Promise.all([dryRun(), dryRun(), dryRun()]);
    isOver = true;
    await toggling;
    expect(server.output()).not.toContain("ERROR");
  });

  test("lists of which only the head is read block nothing", async () => {
    const server = await serve(await large(), { env });
    const admin = await signIn(server.url);
    const databases = (): number =>
      readdirSync(`/proc/${server.pid}/fd`).filter((fd) => {
        try {
          return readlinkSync(`/proc/${server.pid}/fd/${fd}`).endsWith("/socle.db");
        } catch {
          // The descriptor was closed meanwhile.
          return false;
        }
      }).length;
    await admin.put("items", { fields: [n, text("a"), text("gone"), text("b")] });
    const before = databases();
    for (let round = 0; round < 10; round++) {
      await fetch(`${server.url}/api/items`, { method: "HEAD" });
      const gone = new AbortController();
      const answer = await fetch(`${server.url}/api/items`, { signal: gone.signal });
      await answer.body?.getReader().read();
      gone.abort();
      await Bun.sleep(20);
      expect(
        (await admin.put("items", { permissions: { read: round % 2 === 0 ? "public" : "authenticated" } })).status,
      ).toBe(200);
      if (round % 2 !== 0) await admin.put("items", { permissions: null });
    }
    expect(databases()).toBeLessThanOrEqual(before + 1);
  });

  test("a client that leaves in the middle of a list is not logged", async () => {
    const server = await serve(await large(), { env });
    const { hostname, port } = new URL(server.url);
    for (let round = 0; round < 10; round++) {
      const clients = Array.from({ length: 20 }, async () => {
        const first = Promise.withResolvers<void>();
        const socket = await Bun.connect({
          hostname,
          port: Number(port),
          socket: {
            data(client) {
              client.pause();
              first.resolve();
            },
          },
        });
        socket.write("GET /api/items HTTP/1.1\r\nHost: x\r\n\r\n");
        await first.promise;
        await Bun.sleep(round);
        socket.terminate();
      });
      await Promise.all(clients);
    }
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    await server.stop();
    expect(server.output()).not.toContain("ERROR");
  });

  test("a kill in the middle leaves the former or the new collection", async () => {
    const cwd = await large();
    for (const ms of [5, 30, 100]) {
      const server = await serve(cwd, { env });
      const admin = await signIn(server.url);
      const fields = [n, text("a", { regex: `^(a|b) [0-9]+$|${ms}` }), text(`gone`), text(`new${ms}`)];
      const migrating = admin.put("items", { fields }).catch(() => null);
      await Bun.sleep(ms);
      server.signal("SIGKILL");
      const answer = await migrating;
      await server.exited;
      const database = new Database(join(cwd, "socle.db"));
      const columns = database.query<{ name: string }, []>("PRAGMA table_info(items)").all();
      const row = database.query<{ definition: string }, []>("SELECT definition FROM _collections").get();
      const isThere = columns.some(({ name }) => name === `new${ms}`);
      expect((row?.definition ?? "").includes(`new${ms}`)).toBe(isThere);
      if (answer?.status === 200) expect(isThere).toBe(true);
      expect(database.query<{ n: number }, []>("SELECT count(*) AS n FROM items").get()?.n).toBe(records);
      database.close();
    }
  });
});
