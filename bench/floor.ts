/**
 * The floor of the benchmark: the cost of the same runtime, the same SQL, the same JSON and the same flush discipline with
 * nothing around: no validation, permissions, events, logs or errors. Arguments: the path of the database.
 */
import { Database } from "bun:sqlite";
import { fdatasync, openSync } from "node:fs";

const path = Bun.argv[2] ?? "floor.db";
const writer = new Database(path, { create: true });
writer.run("PRAGMA journal_mode = WAL");
writer.run("PRAGMA synchronous = NORMAL");
writer.run("PRAGMA wal_autocheckpoint = 0");
writer.run("PRAGMA cache_size = -16000");
for (const table of ["items", "fifty"])
  writer.run(
    `CREATE TABLE ${table} (_seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, _owner TEXT, title TEXT, body TEXT, count INTEGER, score REAL) STRICT`,
  );
const reader = new Database(path, { readonly: true });
new Worker(new URL("./floor-checkpoints.ts", import.meta.url).href).postMessage(path);

const columns = "id, createdAt, updatedAt, title, body, count, score";
interface Item {
  id: string;
  createdAt: string;
  updatedAt: string;
  title: string;
  body: string;
  count: number;
  score: number;
}
const begin = writer.prepare("BEGIN IMMEDIATE");
const commit = writer.prepare("COMMIT");
const statements = (table: string) => ({
  insert: writer.prepare(
    `INSERT INTO ${table} (id, createdAt, updatedAt, _owner, title, body, count, score) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  find: writer.prepare<Item, [string]>(`SELECT ${columns}, _owner FROM ${table} WHERE id = ?`),
  update: writer.prepare<Item, [string, string, string]>(
    `UPDATE ${table} SET title = ?, updatedAt = ? WHERE id = ? RETURNING ${columns}`,
  ),
  get: reader.prepare<Item, [string]>(`SELECT ${columns} FROM ${table} WHERE id = ?`),
  list: reader.prepare<Item, []>(`SELECT ${columns} FROM ${table} ORDER BY _seq DESC`),
});
const tables: Record<string, ReturnType<typeof statements>> = {
  items: statements("items"),
  fifty: statements("fifty"),
};

const log = openSync(`${path}-wal`, "r+");
let queue: { work: () => unknown; resolve: (value: unknown) => void }[] = [];
let running: Promise<void> | null = null;
let next: Promise<void> | null = null;

function sync(): Promise<void> {
  next = null;
  running = new Promise<void>((resolve) => fdatasync(log, () => resolve())).then(() => {
    running = null;
  });
  return running;
}

function turn(): void {
  const batch = queue;
  queue = [];
  begin.run();
  const values = batch.map(({ work }) => work());
  commit.run();
  if (running === null) void sync();
  else next ??= running.then(sync);
  void (next ?? running)?.then(() => {
    for (const [i, { resolve }] of batch.entries()) resolve(values[i]);
  });
}

function write(work: () => unknown): Promise<unknown> {
  return new Promise((resolve) => {
    queue.push({ work, resolve });
    if (queue.length === 1) setImmediate(turn);
  });
}

const headers = { "Content-Type": "application/json" };

const server = Bun.serve({
  port: 0,
  routes: {
    "/api/:collection": {
      GET(request) {
        return new Response(JSON.stringify({ items: tables[request.params.collection]?.list.all() }), { headers });
      },
      async POST(request) {
        const body = (await request.json()) as Omit<Item, "id" | "createdAt" | "updatedAt">;
        const record = await write(() => {
          const now = Date.now();
          const timestamp = new Date(now).toISOString();
          const item = {
            id: `rec_${Bun.randomUUIDv7("hex", now)}`,
            createdAt: timestamp,
            updatedAt: timestamp,
            ...body,
          };
          tables[request.params.collection]?.insert.run(
            item.id,
            timestamp,
            timestamp,
            null,
            item.title,
            item.body,
            item.count,
            item.score,
          );
          return item;
        });
        return new Response(JSON.stringify(record), { status: 201, headers });
      },
    },
    "/api/:collection/:id": {
      GET(request) {
        const { collection, id } = request.params;
        return new Response(JSON.stringify(tables[collection]?.get.get(id)), { headers });
      },
      async PUT(request) {
        const { collection, id } = request.params;
        const body = (await request.json()) as Item;
        const record = await write(() => {
          tables[collection]?.find.get(id);
          return tables[collection]?.update.get(body.title, new Date().toISOString(), id);
        });
        return new Response(JSON.stringify(record), { headers });
      },
    },
  },
});
console.log(`Listening on http://localhost:${server.port}`);
