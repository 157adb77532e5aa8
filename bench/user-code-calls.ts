/** Benchmark of calls of the user's code: the rate and the processor time, of all processes of the service together. */
import { readdirSync, readFileSync } from "node:fs";
import { type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import type { ServerProcess } from "./server.ts";

/** The endpoints, by name. `id` is a record of `items`. */
const endpoints: { readonly [name: string]: string } = {
  get: 'await db.collection("items").get(id);',
  list: 'await db.collection("items").list({ filter: `title = "one"`, limit: 1 });',
  query: 'await db.query("SELECT title FROM items WHERE id = ?", [id]);',
  enqueue: 'await jobs.enqueue("later", 1, { at: "2100-01-01" });',
  transaction: `await db.transaction(async (tx) => {
    const { n } = await tx.collection("items").get(id);
    await tx.collection("items").update(id, { n: n + 1 });
  });`,
};

/** The cases, with the number of records that the requests are spread over; a create is spread over no records. */
const cases = [
  { name: "items", label: "a create", records: 0 },
  { name: "hooked", label: "the same create under an empty hook", records: 0 },
  { name: "empty", label: "an empty endpoint", records: 256 },
  { name: "get", label: "`db.get`", records: 256 },
  { name: "list", label: "a list of one record", records: 256 },
  { name: "query", label: "`db.query`", records: 256 },
  { name: "enqueue", label: "`jobs.enqueue`", records: 256 },
  { name: "transaction", label: "a transaction of one read and one write", records: 256 },
  { name: "transaction", label: "the same on one record", records: 1 },
] as const;

/** The files of the project of `endpoints.ts` that this benchmark needs, by path. */
export const crossingFiles: { readonly [path: string]: string } = {
  "jobs/later.ts": "export const queue = {};\nexport default () => undefined;\n",
  "functions/hooked/empty.ts": "export const beforeCreate = () => undefined;\n",
  ...Object.fromEntries(
    Object.entries(endpoints).map(([name, code]) => [
      `endpoints/${name}.ts`,
      `export const access = "public";
export const GET = async (request, { db, jobs }) => {
  const id = request.url.slice(-40);
  ${code}
  return new Response("ok");
};\n`,
    ]),
  ),
};

/** Microseconds of processor time of a process and its children so far. */
export function processorTime(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number),
  );
  const [user = 0, system = 0] =
    readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11, 13).map(Number) ?? [];
  return (user + system) * 10_000 + children.reduce((sum, child) => sum + processorTime(child), 0);
}

async function idsOf(url: string, count: number): Promise<string[]> {
  const headers = { "Content-Type": "application/json" };
  const operations = Array.from({ length: count }, () => ({
    method: "create",
    collection: "items",
    body: { title: "one", n: 1 },
  }));
  const answer = await fetch(`${url}/api/batch`, { method: "POST", headers, body: JSON.stringify({ operations }) });
  const { results } = (await answer.json()) as { results: { body: { id: string } }[] };
  return results.map(({ body }) => body.id);
}

/** Measures every case at 32 connections, and prints a table. */
export async function measureCrossings(
  server: ServerProcess,
  { folder, rounds, seconds }: { folder: string; rounds: number; seconds: number },
): Promise<void> {
  const ids = await idsOf(server.url, 256);
  console.log("| 32 connections | requests/s | processor time of all processes, µs |\n| --- | --- | --- |");
  for (const { name, label, records } of cases) {
    const create: LoadRequest = { method: "POST", path: `/api/${name}`, body: JSON.stringify({ title: "one", n: 1 }) };
    const call = (id: string): LoadRequest => ({ method: "GET", path: `/api/function/${name}?${id}` });
    const requests = records === 0 ? [create] : ids.slice(0, records).map(call);
    const speeds: number[] = [];
    const costs: number[] = [];
    for (let round = -1; round < rounds; round++) {
      const before = processorTime(server.pid);
      const { requestsPerSecond, errors } = await runLoad(
        { url: server.url, connections: 32, seconds, requests },
        folder,
      );
      if (errors > 0) throw new Error(`${name}: ${errors} errors`);
      if (round < 0) continue;
      speeds.push(requestsPerSecond);
      costs.push((processorTime(server.pid) - before) / (requestsPerSecond * seconds));
    }
    console.log(`| ${label} | ${Math.round(median(speeds)).toLocaleString("en")} | ${Math.round(median(costs))} |`);
  }
}
