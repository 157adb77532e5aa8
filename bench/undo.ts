/** An undo of an import of 10,000 records beside a bystander who reads and writes, in turns with a time without an undo. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";

const records = 10_000;
const credentials = { email: "admin@example.com", password: "a long password" };
const env = { SERVICE_ADMIN_EMAIL: credentials.email, SERVICE_ADMIN_PASSWORD: credentials.password };
const collection = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "count", type: "integer" },
  ],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
};
/** The pause of the bystander between two requests. */
const pauseMs = 2;
/** The time after the import, in which the service copies the write-ahead log and frees memory. */
const restMs = 1_500;

/** The 99th percentile of the bystander's requests, in milliseconds. */
interface Percentiles {
  readonly read: number;
  readonly write: number;
}

export async function measureUndo({ folder, rounds }: { folder: string; rounds: number }): Promise<void> {
  const project = join(folder, "undo");
  await mkdir(join(project, "collections"), { recursive: true });
  await Bun.write(join(project, "collections/items.json"), JSON.stringify(collection));
  const server = await startServer([executable, "serve", "--port", "0"], project, env);
  const send = sender(server, await tokenOf(server));
  const kept = (await (await send("POST", "/api/items", { title: "kept", count: 0 })).json()) as { id: string };
  const [control, beside]: [Percentiles[], Percentiles[]] = [[], []];
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const lines = Array.from({ length: records }, (_, n) => `{"title":"Row ${n}","count":${n}}`).join("\n");
    const answer = await send("POST", "/api/items/import", lines);
    const { import: id } = (await answer.json()) as { import: string };
    await Bun.sleep(restMs);
    const start = performance.now();
    const undo = async (): Promise<void> => {
      const begun = (await (await send("POST", "/api/admin/undo", { import: id })).json()) as { id: string };
      for (let status = "running"; status === "running"; await Bun.sleep(20))
        ({ status } = (await (await send("GET", `/api/admin/undo/${begun.id}`)).json()) as { status: string });
    };
    beside.push(await bystander(send, kept.id, undo));
    const ms = performance.now() - start;
    times.push(ms);
    control.push(await bystander(send, kept.id, () => Bun.sleep(ms)));
  }
  await server.stop();
  console.log(
    `Undo of an import of ${records} records: ${Math.round(median(times))} ms; p99 of a bystander, alone / beside the undo`,
  );
  for (const kind of ["read", "write"] as const) {
    const of = (each: readonly Percentiles[]): number => median(each.map((round) => round[kind]));
    console.log(`  ${kind}: ${of(control).toFixed(1)} / ${of(beside).toFixed(1)} ms (medians of ${rounds} rounds)`);
  }
}

/** Sends JSON, or lines of JSON as a text. */
type Send = (method: string, path: string, body?: object | string) => Promise<Response>;

function sender({ url }: ServerProcess, token: string): Send {
  return async (method, path, body) => {
    const type = typeof body === "string" ? "application/x-ndjson" : "application/json";
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": type },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
}

async function tokenOf({ url }: ServerProcess): Promise<string> {
  const answer = await fetch(`${url}/api/auth/login`, { method: "POST", body: JSON.stringify(credentials) });
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

/** Reads and writes a record, a request after the other, while some work is under way. */
async function bystander(send: Send, id: string, work: () => Promise<unknown>): Promise<Percentiles> {
  let isOver = false;
  const looped = async (request: () => Promise<Response>): Promise<number> => {
    const times: number[] = [];
    while (!isOver) {
      const start = performance.now();
      await (await request()).arrayBuffer();
      times.push(performance.now() - start);
      await Bun.sleep(pauseMs);
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
  };
  const running = Promise.all([
    looped(() => send("GET", `/api/items/${id}`)),
    looped(() => send("PUT", `/api/items/${id}`, { count: 1 })),
  ]);
  await work();
  isOver = true;
  const [read, write] = await running;
  return { read, write };
}
