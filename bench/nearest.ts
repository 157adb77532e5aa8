/**
 * Vectors: lists by `nearest` over 100,000 vectors of 384 numbers, with filters and without, alone and beside writes of vectors to the same
 * collection: the processor time of the service and the time of an answer.
 */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { processorMs } from "./processor.ts";
import { type ServerProcess, startServer } from "./server.ts";

const records = 100_000;
const dimensions = 384;
const fields = [
  { name: "n", type: "integer" },
  { name: "m", type: "integer" },
  { name: "embedding", type: "vector", dimensions },
];
const collections = [{ name: "notes", fields, indexes: [["m"]] }];
/** Requests of a measurement: a tick of the kernel's counters is 10 ms. */
const requests = 40;
/** The writes a second beside the lists. */
const writeRate = 100;

/** Numbers of a model lie in clusters: a vector is a centre, and a deviation. */
const centres = Array.from({ length: 200 }, () => Float32Array.from({ length: dimensions }, () => Math.random() - 0.5));

function vector(): Float32Array {
  const centre = centres[Math.floor(Math.random() * centres.length)];
  return Float32Array.from({ length: dimensions }, (_, i) => (centre?.[i] ?? 0) + (Math.random() - 0.5) * 0.5);
}

function fill(path: string): void {
  using database = new Database(path);
  const time = "2026-01-01T00:00:00.000Z";
  database.transaction(() => {
    const insert = database.prepare(
      "INSERT INTO notes (id, createdAt, updatedAt, n, m, embedding) VALUES (?, ?, ?, ?, ?, ?)",
    );
    for (let n = 0; n < records; n++) {
      const numbers = Buffer.from(vector().buffer).toString("base64");
      insert.run(`rec_${Bun.randomUUIDv7()}`, time, time, n % 1_000, n % 1_000, numbers);
    }
  })();
}

const headers = { "Content-Type": "application/json" };

/** Milliseconds of the processor for a request, and of the median answer. */
async function costOf({ url, pid }: ServerProcess, filter: string): Promise<{ processor: number; answer: number }> {
  const times: number[] = [];
  let before = 0;
  for (let n = -3; n < requests; n++) {
    if (n === 0) before = processorMs(pid);
    const sort = `nearest(embedding, [${vector().join(", ")}])`;
    const body = JSON.stringify({ sort, limit: 20, fields: "n", ...(filter !== "" && { filter }) });
    const start = performance.now();
    const answer = await fetch(`${url}/api/notes/query`, { method: "POST", headers, body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${filter}: ${answer.status} ${text}`);
    if (n >= 0) times.push(performance.now() - start);
  }
  return { processor: (processorMs(pid) - before) / requests, answer: median(times) };
}

/** Writes of vectors at a steady rate until the work is done. */
async function besideWrites<T>(url: string, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    const body = JSON.stringify({ n: 1, m: 1, embedding: [...vector()] });
    void fetch(`${url}/api/notes`, { method: "POST", body, headers }).then((answer) => answer.arrayBuffer());
  }, 1_000 / writeRate);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

const lists: readonly (readonly [string, string])[] = [
  ["the nearest of all", ""],
  ["a filter that half of the records meet", "n < 500"],
  ["a filter that 1 of 100 records meets", "n < 10"],
  ["a filter that 1 of 1,000 records meets", "n = 7"],
  ["the same filter with an index", "m = 7"],
];

export async function measureNearest(folder: string): Promise<void> {
  for (const memory of ["256MiB", 0]) {
    const project = join(folder, `nearest-${memory}`);
    await mkdir(join(project, "collections"), { recursive: true });
    for (const definition of collections)
      await Bun.write(join(project, `collections/${definition.name}.json`), JSON.stringify(definition));
    await Bun.write(join(project, "config.json"), JSON.stringify({ port: 0, limits: { vectorMemory: memory } }));
    await (await startServer([executable], project)).stop();
    fill(join(project, "socle.db"));
    const server = await startServer([executable], project);
    try {
      console.log(
        `\n${records.toLocaleString("en")} vectors of ${dimensions} numbers, ${memory} of memory for vectors; milliseconds for a request:\n`,
      );
      console.log(`| | processor | answer | answer beside ${writeRate} writes a second |\n|---|---|---|---|`);
      for (const [name, filter] of lists) {
        const alone = await costOf(server, filter);
        const beside = memory === 0 ? null : await besideWrites(server.url, () => costOf(server, filter));
        const numbers = [alone.processor, alone.answer, beside?.answer].map((ms) => ms?.toFixed(1) ?? "–");
        console.log(`| ${name} | ${numbers.join(" | ")} |`);
      }
    } finally {
      await server.stop();
    }
  }
}
