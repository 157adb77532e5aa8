/** A backup of 1,000,000 records and 10,000 files during 2,000 writes a second: the effect on writes and memory. */
import { Database } from "bun:sqlite";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";

const records = 1_000_000;
const files = 10_000;
const fileBytes = 20_000;
const writesPerSecond = 2_000;
/** Writes that wait for the answer, at most: more would measure the client. */
const maxOpen = 500;
/** A time without a backup, before each backup. */
const quietMs = 20_000;

const collection = {
  name: "items",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "body", type: "text" },
    { name: "count", type: "integer" },
    { name: "score", type: "float" },
  ],
  indexes: [{ fields: ["count"] }],
};

/** Rows as written by the service; creates through the service would take minutes. */
function fill(folder: string): void {
  const database = new Database(join(folder, "socle.db"));
  const time = new Date().toISOString();
  database.transaction(() => {
    const insert = database.prepare(
      'INSERT INTO "items" (id, createdAt, updatedAt, "title", "body", "count", "score") VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    for (let n = 0; n < records; n++) {
      const id = `rec_${Bun.randomUUIDv7()}`;
      insert.run(id, time, time, `Item number ${n}`, `A text of some length, ${id}, ${n * 7919}`, n % 50_000, n / 7);
    }
    const note = database.prepare(
      "INSERT INTO _files (id, filename, mimeType, size, visibility, createdAt) VALUES (?, ?, ?, ?, 'public', ?)",
    );
    for (let n = 0; n < files; n++) {
      const id = `fil_${Bun.randomUUIDv7()}`;
      mkdirSync(join(folder, "storage", id.slice(-2)), { recursive: true });
      writeFileSync(join(folder, "storage", id.slice(-2), id), crypto.getRandomValues(new Uint8Array(fileBytes)));
      note.run(id, `${n}.bin`, "application/octet-stream", fileBytes, time);
    }
  })();
  database.close();
}

/** Writes at a fixed pace until `stop`. */
class Writes {
  readonly #url: string;
  readonly #start = performance.now();
  readonly #timer: Timer;
  #sent = 0;
  #open = 0;
  #times: number[] = [];

  constructor(url: string) {
    this.#url = url;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - this.#start) * writesPerSecond) / 1_000);
      for (; this.#sent < due; this.#sent++) if (this.#open < maxOpen) void this.#write(this.#sent);
    }, 2);
  }

  /** The times of the writes that were answered since the last call, in milliseconds, in order of size. */
  take(): number[] {
    const times = this.#times.sort((a, b) => a - b);
    this.#times = [];
    return times;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #write(n: number): Promise<void> {
    this.#open += 1;
    const start = performance.now();
    const body = JSON.stringify({ title: `New ${n}`, body: `A text of some length ${n}`, count: n, score: n / 3 });
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${this.#url}/api/items`, { method: "POST", headers, body });
    if (answer.status !== 201) throw new Error(`a write was answered with ${answer.status}`);
    await answer.arrayBuffer();
    this.#times.push(performance.now() - start);
    this.#open -= 1;
  }
}

interface Outcome {
  readonly max: number;
  readonly p99: number;
  readonly perSecond: number;
}

async function during(writes: Writes, work: () => Promise<unknown>): Promise<Outcome & { seconds: number }> {
  writes.take();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1_000;
  const times = writes.take();
  const at = (part: number): number => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  return { max: at(1), p99: at(0.99), perSecond: times.length / seconds, seconds };
}

async function peakDuring(server: ServerProcess, work: () => Promise<unknown>): Promise<number> {
  let peak = server.resident();
  const timer = setInterval(() => {
    peak = Math.max(peak, server.resident());
  }, 100);
  await work();
  clearInterval(timer);
  return peak;
}

export async function measureBackups(parent: string, rounds: number): Promise<void> {
  const folder = join(parent, "backups");
  mkdirSync(join(folder, "collections"), { recursive: true });
  await Bun.write(join(folder, "config.json"), JSON.stringify({ port: 0 }));
  await Bun.write(join(folder, "collections/items.json"), JSON.stringify(collection));
  const env = { SERVICE_LOG_LEVEL: "INFO" };
  await (await startServer([executable], folder, env)).stop();
  fill(folder);
  const server = await startServer([executable], folder, env);
  const writes = new Writes(server.url);
  const output = join(folder, "backup.tar.zst");
  const quiet: Outcome[] = [];
  const busy: (Outcome & { seconds: number; memory: number; log: number })[] = [];
  await Bun.sleep(5_000);
  for (let round = 0; round < rounds; round++) {
    quiet.push(await during(writes, () => Bun.sleep(quietMs)));
    const before = server.resident();
    let log = 0;
    const look = setInterval(() => {
      log = Math.max(log, statSync(join(folder, "socle.db-wal")).size);
    }, 50);
    let peak = 0;
    const outcome = await during(writes, async () => {
      peak = await peakDuring(server, async () => {
        const child = Bun.spawn([executable, "backup", output], { cwd: folder, stdout: "ignore", stderr: "inherit" });
        if ((await child.exited) !== 0) throw new Error("the backup failed");
      });
    });
    clearInterval(look);
    busy.push({ ...outcome, memory: peak - before, log });
    // The log is copied now.
    const after = await during(writes, () => Bun.sleep(5_000));
    const last = quiet.at(-1);
    console.log(
      `round ${round + 1}: longest write ${last?.max.toFixed(0)} ms before, ${outcome.max.toFixed(0)} ms with the backup, ${after.max.toFixed(0)} ms after it; ${outcome.seconds.toFixed(1)} s`,
    );
  }
  writes.stop();
  const size = statSync(output).size;
  const databaseSize = statSync(join(folder, "socle.db")).size;
  const restore = Bun.spawnSync([executable, "verify", output], { cwd: folder });
  if (restore.exitCode !== 0) throw new Error(`the backup is not whole: ${restore.stderr}`);
  await server.stop();
  const of = (outcomes: readonly Outcome[], name: keyof Outcome): string =>
    median(outcomes.map((outcome) => outcome[name])).toFixed(name === "perSecond" ? 0 : 1);
  const mib = (bytes: number): string => (bytes / 1_024 ** 2).toFixed(0);
  console.log(`
| | writes/s | p99 ms | longest ms |
|---|---|---|---|
| without a backup | ${of(quiet, "perSecond")} | ${of(quiet, "p99")} | ${of(quiet, "max")} |
| while one is made | ${of(busy, "perSecond")} | ${of(busy, "p99")} | ${of(busy, "max")} |

${records.toLocaleString("en")} records (a database of ${mib(databaseSize)} MiB) and ${files.toLocaleString("en")} files of ${fileBytes} bytes: \
${median(busy.map(({ seconds }) => seconds)).toFixed(1)} s, ${mib(size)} MiB, ${median(busy.map(({ memory }) => memory)).toFixed(0)} MiB \
of memory more than before, the write-ahead log at ${mib(median(busy.map(({ log }) => log)))} MiB at most. Medians of ${rounds}.
`);
}
