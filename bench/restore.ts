/**
 * Restores: `bun bench/restore.ts` measures the time from an empty folder to the first answer, from a continuous backup with 1,000,000 records and about 200 MB of
 * segments behind the snapshot, and from a plain backup of the same state, in turns. The service is killed before, and what the kill has cost is told.
 */
import { Database } from "bun:sqlite";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { startServer } from "./server.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);
const records = 1_000_000;
const segmentBytes = 200 * 1024 ** 2;
const perBatch = 500;
const parent = await mkdtemp(join(tmpdir(), "socle-bench-restore-"));
process.on("exit", () => rmSync(parent, { recursive: true, force: true }));
const place = join(parent, "place");
const collection = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
    { name: "count", type: "integer" },
  ],
  indexes: [{ fields: ["count"] }],
};

async function project(name: string): Promise<string> {
  const folder = join(parent, name);
  mkdirSync(join(folder, "collections"), { recursive: true });
  await Bun.write(join(folder, "config.json"), JSON.stringify({ port: 0 }));
  await Bun.write(join(folder, "collections/items.json"), JSON.stringify(collection));
  return folder;
}

/** Rows as written by the service; creates through the service would take minutes. */
function fill(folder: string): void {
  using database = new Database(join(folder, "socle.db"));
  const time = new Date().toISOString();
  database.transaction(() => {
    const insert = database.prepare(
      'INSERT INTO "items" (id, createdAt, updatedAt, "title", "body", "count") VALUES (?, ?, ?, ?, ?, ?)',
    );
    for (let n = 0; n < records; n++) {
      const id = `rec_${Bun.randomUUIDv7()}`;
      insert.run(id, time, time, `Item number ${n}`, `A text of some length, ${id}, ${n * 7919}`, n % 50_000);
    }
  })();
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Text that compression cannot shorten by much. */
function textOf(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("base64");
}

async function run(args: readonly string[], cwd: string): Promise<number> {
  const start = performance.now();
  const child = Bun.spawn([executable, ...args], { cwd, stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`socle ${args.join(" ")} failed`);
  return (performance.now() - start) / 1_000;
}

const source = await project("source");
await (await startServer([executable], source)).stop();
fill(source);
const continuous = { SERVICE_BACKUP_CONTINUOUS: place, SERVICE_METRICS_TOKEN: "the token of the benchmark" };
const server = await startServer([executable], source, continuous);
const headers = { "Content-Type": "application/json" };
const behind = async (): Promise<number> => {
  const metrics = await fetch(`${server.url}/metrics`, {
    headers: { Authorization: `Bearer ${continuous.SERVICE_METRICS_TOKEN}` },
  });
  return Number(/^socle_backup_behind_seconds (\S+)$/m.exec(await metrics.text())?.[1]);
};
// The snapshot has the rows that were written past the service.
while ((await behind()) > 0) await Bun.sleep(100);
let written = 0;
while (bytesIn(join(place, "segments")) < segmentBytes) {
  const operations = Array.from({ length: perBatch }, (_, i) => ({
    method: "create",
    collection: "items",
    body: { title: `New ${written + i}`, body: textOf(450), count: i },
  }));
  const answer = await fetch(`${server.url}/api/batch`, {
    method: "POST",
    headers,
    body: JSON.stringify({ operations }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  written += perBatch;
}
while ((await behind()) > 0) await Bun.sleep(100);
const plain = join(parent, "backup.tar.zst");
const backupSeconds = await run(["backup", plain], source);
process.kill(server.pid, "SIGKILL");
await server.stop();

const kinds: [name: string, work: (folder: string) => Promise<number>][] = [
  ["socle restore PLACE", (folder) => run(["restore", place], folder)],
  ["socle restore FILE", (folder) => run(["restore", plain], folder)],
  [
    "socle serve --from PLACE, to the first answer",
    async (folder) => {
      const served = await startServer([executable, "serve", "--from", place], folder);
      await served.stop();
      return served.startMs / 1_000;
    },
  ],
];
const found = new Map<string, number[]>(kinds.map(([name]) => [name, []]));
for (let round = 0; round < rounds; round++)
  for (const [name, work] of kinds) {
    const folder = await project(`restored-${round}-${found.get(name)?.length}-${name.length}`);
    found.get(name)?.push(await work(folder));
    using database = new Database(join(folder, "socle.db"));
    const count = database.query<{ n: number }, []>('SELECT count(*) AS n FROM "items"').get()?.n;
    if (count !== records + written) throw new Error(`${name}: ${count} records in place of ${records + written}`);
    rmSync(folder, { recursive: true });
  }
const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0);
console.log(
  `${(records + written).toLocaleString("en")} records; a snapshot of ${mib(bytesIn(join(place, "snapshots")))} MiB, ${mib(bytesIn(join(place, "segments")))} MiB of segments, a backup of ${mib(statSync(plain).size)} MiB (${backupSeconds.toFixed(1)} s)`,
);
for (const [name, times] of found)
  console.log(`${name}: ${median(times).toFixed(1)} s (${times.map((each) => each.toFixed(1)).join(", ")})`);
