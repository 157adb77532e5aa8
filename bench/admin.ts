/** The admin API: migrations of a million records beside reads and writes, and lists over 100,000 users. */

import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";
import { makeUsers } from "./users.ts";

const records = 1_000_000;
const users = 100_000;
const credentials = { email: "admin@example.com", password: "a long password" };
const env = {
  SERVICE_LOG_LEVEL: "INFO",
  SERVICE_ADMIN_EMAIL: credentials.email,
  SERVICE_ADMIN_PASSWORD: credentials.password,
};
/** The time in which requests are watched after a migration's answer: the migration's remaining work counts, too. */
const afterMs = 1_500;

const string = { name: "title", type: "string" };
const body = { name: "body", type: "text" };
const count = { name: "count", type: "integer" };
const score = { name: "score", type: "float" };

interface Step {
  readonly name: string;
  readonly fields: readonly object[];
}

/** Each step is undone by a later step, so that all steps can be repeated. */
const steps: readonly Step[] = [
  { name: "add a field", fields: [string, body, count, score, { name: "extra", type: "string" }] },
  {
    name: "rename a field",
    fields: [string, { ...body, name: "text", renamedFrom: "body" }, count, score, { name: "extra", type: "string" }],
  },
  { name: "drop a field of 100 characters", fields: [string, count, score, { name: "extra", type: "string" }] },
  {
    name: "make a field unique",
    fields: [string, { ...count, unique: true }, score, { name: "extra", type: "string" }],
  },
];

function insertRecords(path: string): void {
  using database = new Database(path);
  const insert = database.prepare(
    "INSERT INTO items (id, createdAt, updatedAt, title, body, count, score) VALUES (?, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', ?, ?, ?, ?)",
  );
  const text = "A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.";
  database.transaction(() => {
    for (let n = 0; n < records; n++) insert.run(`rec_${Bun.randomUUIDv7()}`, `Item number ${n}`, text, n, n / 7);
  })();
}

/** Sends one request after the other until `stop`. Answers the duration of each request. */
function watch(send: () => Promise<Response>): { stop(): Promise<number[]> } {
  let isOver = false;
  const running = (async () => {
    const times: number[] = [];
    while (!isOver) {
      const start = performance.now();
      const response = await send();
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
      times.push(performance.now() - start);
      await Bun.sleep(1);
    }
    return times;
  })();
  return {
    stop() {
      isOver = true;
      return running;
    },
  };
}

async function signIn({ url }: ServerProcess): Promise<Record<string, string>> {
  const answer = await fetch(`${url}/api/auth/login`, { method: "POST", body: JSON.stringify(credentials) });
  const { accessToken } = (await answer.json()) as { accessToken: string };
  return { Authorization: `Bearer ${accessToken}` };
}

async function measureMigrations(executable: string, folder: string, rounds: number): Promise<void> {
  await mkdir(`${folder}/collections`, { recursive: true });
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0 }));
  await Bun.write(
    `${folder}/collections/items.json`,
    JSON.stringify({ name: "items", fields: [string, body, count, score] }),
  );
  await (await startServer([executable], folder, env)).stop();
  insertRecords(`${folder}/socle.db`);
  await Bun.$`cp ${folder}/socle.db ${folder}/full.db`.quiet();
  const found = new Map<string, { ms: number[]; blocked: number[]; slowestRead: number[]; reads: number[] }>();
  for (let round = 0; round < rounds; round++) {
    await Bun.$`rm -f ${folder}/socle.db-wal ${folder}/socle.db-shm`.quiet();
    await Bun.$`cp ${folder}/full.db ${folder}/socle.db`.quiet();
    const server = await startServer([executable], folder, env);
    const headers = await signIn(server);
    const put = (change: object) =>
      fetch(`${server.url}/api/admin/collections/items`, { method: "PUT", headers, body: JSON.stringify(change) });
    for (const { name, fields } of steps) {
      let n = 0;
      const writes = watch(() => {
        n += 1;
        const item = { title: `New ${n}`, count: 10 * records + n + round };
        const json = { "Content-Type": "application/json" };
        return fetch(`${server.url}/api/items`, { method: "POST", headers: json, body: JSON.stringify(item) });
      });
      const reads = watch(() => fetch(`${server.url}/api/items/rec_0`).then(() => fetch(`${server.url}/health`)));
      await Bun.sleep(200);
      const start = performance.now();
      const answer = await put({ fields });
      const ms = performance.now() - start;
      if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
      await Bun.sleep(afterMs);
      const [written, read] = [await writes.stop(), await reads.stop()];
      // The next step's writes are others.
      const cleared = new Database(`${folder}/socle.db`);
      cleared.run("PRAGMA busy_timeout = 5000");
      cleared.run(`DELETE FROM items WHERE "count" > ${5 * records}`);
      cleared.close();
      const all = found.get(name) ?? { ms: [], blocked: [], slowestRead: [], reads: [] };
      all.ms.push(ms);
      all.blocked.push(Math.max(...written));
      all.slowestRead.push(Math.max(...read));
      all.reads.push(read.length / ((ms + afterMs + 200) / 1_000));
      found.set(name, all);
    }
    const light: number[] = [];
    for (let n = 0; n < 20; n++) {
      const start = performance.now();
      const answer = await put({ permissions: n % 2 === 0 ? { read: "authenticated" } : null });
      await answer.arrayBuffer();
      light.push(performance.now() - start);
    }
    const all = found.get("permissions") ?? { ms: [], blocked: [], slowestRead: [], reads: [] };
    all.ms.push(median(light));
    found.set("permissions", all);
    await server.stop();
  }
  console.log(`\n${records.toLocaleString("en")} records of four columns, beside one reader and one writer:\n`);
  console.log("| | answered after ms | longest write ms | longest read ms | aim |\n|---|---|---|---|---|");
  for (const [name, { ms, blocked, slowestRead }] of found)
    if (blocked.length > 0)
      console.log(
        `| ${name} | ${median(ms).toFixed(0)} | ${median(blocked).toFixed(0)} | ${median(slowestRead).toFixed(0)} | ${name.includes("unique") ? "" : "writes ≤ 1,000"} |`,
      );
  console.log(`\nPUT of permissions alone: ${median(found.get("permissions")?.ms ?? []).toFixed(1)} ms (aim ≤ 5).`);
}

async function measureLists(executable: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0 }));
  await (await startServer([executable], folder, env)).stop();
  await makeUsers(`${folder}/socle.db`, users);
  const server = await startServer([executable], folder, env);
  const headers = await signIn(server);
  const lines: string[] = [];
  for (const [name, query] of [
    ["first page", "limit=50"],
    ["last page", `limit=50&offset=${users - 50}`],
    ["search by email", "search=bench999"],
    ["search without a match", "search=nobody@"],
    ["by role", "role=admin"],
  ] as const) {
    const times: number[] = [];
    for (let n = 0; n < 50; n++) {
      const start = performance.now();
      await (await fetch(`${server.url}/api/admin/users?${query}`, { headers })).arrayBuffer();
      times.push(performance.now() - start);
    }
    lines.push(`${name} ${median(times).toFixed(1)} ms`);
  }
  await server.stop();
  console.log(`\nLists of ${users.toLocaleString("en")} users, p50: ${lines.join(", ")} (aim ≤ 10).`);
}

export async function measureAdmin(options: { root: string; folder: string; rounds: number }): Promise<void> {
  await measureMigrations(executable, `${options.folder}/migrations`, Math.min(options.rounds, 3));
  await measureLists(executable, `${options.folder}/users`);
}
