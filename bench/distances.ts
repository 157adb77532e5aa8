/**
 * Distances: lists within a distance and by distance over 100,000 places, with and without an index, alone and beside writes: the
 * processor time of the service and the time of an answer.
 */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { processorMs } from "./processor.ts";
import { type ServerProcess, startServer } from "./server.ts";

const records = 100_000;
const fields = [
  { name: "name", type: "string" },
  { name: "place", type: "geo" },
];
const collections = [
  { name: "plain", fields },
  { name: "indexed", fields, indexes: [["place"]] },
  { name: "beside", fields },
];
/** Requests of a measurement: a tick of the kernel's counters is 10 ms. */
const requests = 40;
/** The writes a second beside the lists. */
const writeRate = 200;

/** Half of the places are in one city, the others anywhere: the index finds the city by many places that are not near. */
function placeAt(n: number): string {
  const isInCity = n % 2 === 0;
  const lat = isInCity ? 52.4 + Math.random() * 0.25 : (Math.asin(Math.random() * 2 - 1) * 180) / Math.PI;
  const lon = isInCity ? 13.2 + Math.random() * 0.4 : Math.random() * 360 - 180;
  return JSON.stringify({ lat, lon });
}

function fill(path: string): void {
  using database = new Database(path);
  const time = "2026-01-01T00:00:00.000Z";
  const places = Array.from({ length: records }, (_, n) => placeAt(n));
  database.transaction(() => {
    for (const name of ["plain", "indexed"]) {
      const insert = database.prepare(
        `INSERT INTO ${name} (id, createdAt, updatedAt, name, place) VALUES (?, ?, ?, ?, ?)`,
      );
      for (const [n, place] of places.entries())
        insert.run(`rec_${Bun.randomUUIDv7()}`, time, time, `Shop ${n}`, place);
    }
  })();
}

/** Requests so far. */
let asked = 0;

/** Milliseconds of the processor for a request, and of the median answer. */
async function costOf({ url, pid }: ServerProcess, path: string): Promise<{ processor: number; answer: number }> {
  const times: number[] = [];
  let before = 0;
  for (let n = -3; n < requests; n++) {
    if (n === 0) before = processorMs(pid);
    const start = performance.now();
    // Another point each time: no answer is kept.
    const answer = await fetch(url + path.replaceAll("13.4", String(13.4 + ++asked / 1_000_000)));
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    if (n >= 0) times.push(performance.now() - start);
  }
  return { processor: (processorMs(pid) - before) / requests, answer: median(times) };
}

/** Writes at a steady rate until the work is done. */
async function besideWrites<T>(url: string, work: () => Promise<T>): Promise<T> {
  const body = JSON.stringify({ name: "New", place: { lat: 1, lon: 2 } });
  const headers = { "Content-Type": "application/json" };
  const timer = setInterval(() => {
    void fetch(`${url}/api/beside`, { method: "POST", body, headers }).then((answer) => answer.arrayBuffer());
  }, 1_000 / writeRate);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

export async function measureDistances(folder: string): Promise<void> {
  const project = join(folder, "distances");
  await mkdir(join(project, "collections"), { recursive: true });
  for (const definition of collections)
    await Bun.write(join(project, `collections/${definition.name}.json`), JSON.stringify(definition));
  await Bun.write(join(project, "config.json"), JSON.stringify({ port: 0 }));
  await (await startServer([executable], project)).stop();
  fill(join(project, "socle.db"));
  const server = await startServer([executable], project);
  const near = (km: number): string => `filter=${encodeURIComponent(`distance(place, 52.52, 13.4) < ${km}km`)}`;
  const lists: readonly (readonly [string, string])[] = [
    ["the newest within 1 km", `${near(1)}&limit=20`],
    ["the newest within 5 km", `${near(5)}&limit=20`],
    ["the nearest within 5 km", `${near(5)}&sort=distance(place,52.52,13.4)&limit=20`],
    ["the nearest of all", "sort=distance(place,52.52,13.4)&limit=20"],
  ];
  try {
    console.log(`\n${records.toLocaleString("en")} places, half of them in one city; milliseconds for a request:\n`);
    console.log("| | index | processor | answer | answer beside 200 writes a second |\n|---|---|---|---|---|");
    for (const [name, parameters] of lists)
      for (const collection of ["plain", "indexed"]) {
        const path = `/api/${collection}?${parameters}`;
        const alone = await costOf(server, path);
        const beside = await besideWrites(server.url, () => costOf(server, path));
        const numbers = [alone.processor, alone.answer, beside.answer].map((ms) => ms.toFixed(1));
        console.log(`| ${name} | ${collection === "indexed" ? "yes" : "no"} | ${numbers.join(" | ")} |`);
      }
  } finally {
    await server.stop();
  }
}
